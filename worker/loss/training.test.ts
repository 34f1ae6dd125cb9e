import { mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, beforeAll, expect, test } from "vitest";
import { openTraining } from "./training.ts";

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
  expect(JSON.parse(readFileSync(path, "utf8"))).toEqual({ a: { step: 3, at: 1, epoch: null } });
});
