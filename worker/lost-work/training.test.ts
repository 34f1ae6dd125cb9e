import { mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, beforeAll, expect, test } from "vitest";
import type { StepRecord } from "./parse-step-record.ts";
import { openTraining as open } from "./training.ts";

/** What programs wrote themselves. */
const written = new Map<string, StepRecord>();
const ID = "0".repeat(32);
const openTraining = (path: string) =>
  open(path, { records: { read: (run) => written.get(run) ?? null }, wallNow: () => 1_000 });

let folder: string;
beforeAll(() => {
  folder = mkdtempSync(join(tmpdir(), "tidemark-training-"));
});
afterAll(() => rmSync(folder, { recursive: true }));

test("a worker that is started again knows how far training had come", () => {
  const path = join(folder, "kept.json");
  const before = openTraining(path);
  before.note("a", { step: 1_000_000, at: 5, epoch: 1 });
  before.note("b", { step: 7, at: 6, epoch: 1 });
  // A shorter text than before.
  before.note("a", { step: 1, at: 7, epoch: 1 });
  // Nothing is closed: it was killed.
  const after = openTraining(path);
  expect(after.of("a", 1)).toEqual({ step: 1, at: 7, epoch: 1 });
  expect(after.of("b", 1)?.step).toBe(7);
  expect(after.of("c", 1)).toBeNull();
  after.note("b", { step: 8, at: 9, epoch: 1 });
  expect(openTraining(path).of("a", 1)?.step).toBe(1);
});

test("what was noted in an earlier epoch does not count: another node has been further since", () => {
  const training = openTraining(join(folder, "epochs.json"));
  training.note("a", { step: 500, at: 5, epoch: 1 });
  expect(training.of("a", 3)).toBeNull();
});

test("time passes while the program runs, and only forward", () => {
  const training = openTraining(join(folder, "time.json"));
  training.goesOn("a", 50);
  expect(training.of("a", 1)).toBeNull();
  training.note("a", { step: 3, at: 100, epoch: 1 });
  training.goesOn("a", 160);
  training.goesOn("a", 90);
  expect(training.of("a", 1)).toEqual({ step: 3, at: 160, epoch: 1 });
});

test("when the program was started last is known until it is started again, also to the next worker", () => {
  const path = join(folder, "resumed.json");
  const training = openTraining(path);
  training.note("s", { step: 3, at: 100, epoch: 1, resumed: { at: 100, fromAt: 20 } });
  training.note("s", { step: 5, at: 110, epoch: 1 });
  written.set("s", { id: ID, turn: 1, step: 8, at: 120 });
  training.goesOn("s", 130);
  const known = { step: 8, at: 130, epoch: 1, resumed: { at: 100, fromAt: 20 } };
  expect(training.of("s", 1)).toEqual(known);
  expect(openTraining(path).of("s", 1)).toEqual(known);
  training.note("s", { step: 5, at: 200, epoch: 1, resumed: { at: 200, fromAt: null } });
  expect(training.of("s", 1)?.resumed).toEqual({ at: 200, fromAt: null });
});

test("where nothing can be written a step says so, time goes on without a word, and both are known", () => {
  const training = openTraining(join(folder, "no-such-folder", "training.json"));
  expect(() => training.note("a", { step: 1, at: 1, epoch: 1 })).toThrow(/could not be written/);
  training.goesOn("a", 5);
  expect(training.of("a", 1)).toEqual({ step: 1, at: 5, epoch: 1 });
});

test("a file that is torn is as good as none, and is written anew", () => {
  const path = join(folder, "torn.json");
  writeFileSync(path, '{"a":{"step":1');
  const training = openTraining(path);
  expect(training.of("a", 1)).toBeNull();
  training.note("a", { step: 3, at: 1, epoch: null });
  expect(JSON.parse(readFileSync(path, "utf8"))).toMatchObject({ a: { step: 3, at: 1, epoch: null } });
});

test("what a program wrote counts without a word, in the epoch of what was known, and is taken once", () => {
  const path = join(folder, "recorded.json");
  const training = openTraining(path);
  training.note("r", { step: 10, at: 1, epoch: 4 });
  written.set("r", { id: ID, turn: 37, step: 47, at: 900 });
  expect(training.of("r", 4)).toEqual({ step: 47, at: 900, epoch: 4 });
  expect(training.of("r", 5)).toBeNull();
  // Training goes on from an older checkpoint: what was taken then says nothing of it, not even to the next worker.
  training.note("r", { step: 40, at: 950, epoch: 5 });
  expect(training.of("r", 5)?.step).toBe(40);
  expect(openTraining(path).of("r", 5)?.step).toBe(40);
});

test("an older turn of a record is never taken, a later one with a lower step is, and so is another file's first", () => {
  const training = openTraining(join(folder, "turns.json"));
  written.set("t", { id: ID, turn: 9, step: 90, at: 1 });
  expect(training.of("t", 1)?.step).toBe(90);
  written.set("t", { id: ID, turn: 8, step: 95, at: 2 });
  expect(training.of("t", 1)?.step).toBe(90);
  written.set("t", { id: ID, turn: 10, step: 60, at: 3 });
  expect(training.of("t", 1)?.step).toBe(60);
  written.set("t", { id: "1".repeat(32), turn: 1, step: 61, at: 4 });
  expect(training.of("t", 1)?.step).toBe(61);
});

test("a word that comes late does not undo what the program wrote, and tells of which epoch it is", () => {
  const training = openTraining(join(folder, "words.json"));
  written.set("w", { id: ID, turn: 20, step: 20, at: 1 });
  training.hear("w", { step: 7, at: 5, epoch: 2 });
  expect(training.of("w", 2)?.step).toBe(20);
  expect(training.of("w", 3)).toBeNull();
  // Another rank is ahead.
  training.hear("w", { step: 21, at: 6, epoch: 2 });
  expect(training.of("w", 2)?.step).toBe(21);
  // Nothing is written any more: words are all there is.
  written.delete("w");
  training.hear("w", { step: 7, at: 7, epoch: 2 });
  expect(training.of("w", 2)?.step).toBe(7);
});

test("a program whose clock is ahead does not put its step into the future", () => {
  written.set("clock", { id: ID, turn: 1, step: 1, at: 5_000 });
  expect(openTraining(join(folder, "clock.json")).of("clock", 1)?.at).toBe(1_000);
});

test("a program that says nothing has come as far as its pace carries it from its last checkpoint", () => {
  const path = join(folder, "pace.json");
  const training = openTraining(path);
  training.note("p", { step: 0, at: 100, epoch: 1, resumed: { at: 100, fromAt: null } });
  // The first checkpoint comes 1,000 ms after the start: 100 ms for a step.
  training.see("p", { step: 10, at: 1_100, epoch: 1 });
  training.see("p", { step: 30, at: 2_100, epoch: 1 });
  training.goesOn("p", 2_570);
  const reached = {
    step: 39,
    at: 2_570,
    epoch: 1,
    isEstimated: true,
    isExact: false,
    resumed: { at: 100, fromAt: null },
  };
  expect(training.reached("p", 1)).toEqual(reached);
  expect(training.of("p", 1)?.step).toBe(30);
  expect(openTraining(path).reached("p", 1)).toEqual(reached);
  expect(training.reached("p", 2)).toBeNull();
});

test("the pace of an earlier life counts until the next one has its own", () => {
  const training = openTraining(join(folder, "pace-kept.json"));
  training.note("p", { step: 0, at: 0, epoch: 1, resumed: { at: 0, fromAt: null } });
  training.see("p", { step: 10, at: 1_000, epoch: 1 });
  training.note("p", { step: 10, at: 5_000, epoch: 1, resumed: { at: 5_000, fromAt: null } });
  training.goesOn("p", 5_950);
  expect(training.reached("p", 1)).toMatchObject({ step: 19, isEstimated: true });
});

test("what ended in order, or says its steps, came no further than that", () => {
  const training = openTraining(join(folder, "order.json"));
  training.note("o", { step: 0, at: 0, epoch: 1, resumed: { at: 0, fromAt: null } });
  training.see("o", { step: 10, at: 1_000, epoch: 1 });
  training.goesOn("o", 9_000);
  training.end("o");
  expect(training.reached("o", 1)).toMatchObject({ step: 10, at: 1_000, isEstimated: false, isExact: true });
  written.set("w", { id: ID, turn: 3, step: 12, at: 900 });
  training.goesOn("w", 950);
  expect(training.reached("w", null)).toMatchObject({ step: 12, isExact: true });
  expect(training.said("w")).toBe(12);
  expect(training.said("o")).toBeNull();
});

test("a progress bar moves the step on between checkpoints, as an estimate, and the pace still comes from checkpoints", () => {
  const training = openTraining(join(folder, "bar.json"));
  training.note("b", { step: 0, at: 0, epoch: 1, resumed: { at: 0, fromAt: null } });
  training.see("b", { step: 20, at: 10_000, epoch: 1 });
  training.show("b", { step: 41, at: 12_100, epoch: 1 });
  // Seen a moment after the bar went on.
  training.see("b", { step: 40, at: 12_000, epoch: 1 });
  training.goesOn("b", 12_450);
  expect(training.reached("b", 1)).toMatchObject({ step: 44, isEstimated: true, isExact: false });
  training.show("b", { step: 39, at: 12_500, epoch: 1 });
  expect(training.of("b", 1)?.step).toBe(41);
  written.set("b", { id: ID, turn: 1, step: 43, at: 900 });
  training.show("b", { step: 99, at: 13_000, epoch: 1 });
  expect(training.reached("b", 1)).toMatchObject({ step: 43, isExact: true });
});

test("a checkpoint of an earlier life says nothing of the pace of this one", () => {
  const training = openTraining(join(folder, "restored.json"));
  training.note("r2", { step: 60, at: 100_000, epoch: 1, resumed: { at: 100_000, fromAt: null } });
  training.see("r2", { step: 60, at: 5_000, epoch: 1 });
  training.see("r2", { step: 70, at: 101_000, epoch: 1 });
  training.see("r2", { step: 80, at: 102_000, epoch: 1 });
  training.goesOn("r2", 102_550);
  expect(training.reached("r2", 1)).toMatchObject({ step: 85 });
});

test("a bar that shows the step just before a checkpoint makes no pace, and no pause carries training past the next one", () => {
  const training = openTraining(join(folder, "just-before.json"));
  training.note("j", { step: 0, at: 0, epoch: 1, resumed: { at: 0, fromAt: null } });
  training.show("j", { step: 19, at: 9_990, epoch: 1 });
  training.see("j", { step: 20, at: 10_000, epoch: 1 });
  training.goesOn("j", 12_000);
  expect(training.reached("j", 1)).toMatchObject({ step: 24, isEstimated: true });
  training.goesOn("j", 1_000_000);
  expect(training.reached("j", 1)).toMatchObject({ step: 40, isEstimated: true });
});
