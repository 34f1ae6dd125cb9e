import { expect, test } from "vitest";
import { attemptId, runName, type RunName } from "#protocol/base/names.ts";
import type { TransferState } from "#protocol/wire/transfer.ts";
import type { Capture } from "./capture.ts";
import { createDisk, makeRoom } from "./disk-budget.ts";

const [llama, whisper] = [runName.parse("llama"), runName.parse("whisper")];
const MB = 1_000_000;

const capture = (run: RunName, step: number, state: TransferState = "waiting"): Capture => ({
  id: `${run}-${step}`,
  transferId: `t-${run}-${step}`,
  attempt: attemptId.parse("0123456789abcdef0123"),
  run,
  step,
  epoch: 1,
  framework: null,
  metrics: {},
  capturedAt: step,
  sourcePath: `/work/checkpoint-${step}`,
  folder: `/state/captures/${run}-${step}`,
  sizeBytes: 300 * MB,
  files: [],
  state,
  announced: true,
  priority: 0,
  startedBy: "queue",
  startedAt: null,
  retries: 0,
  sentBytes: 0,
  fault: null,
});
const wanted = (run: RunName, step: number, sizeBytes = 300 * MB) => ({ run, step, sizeBytes, epoch: 1 });
const budget = { mostBytes: 1_000 * MB };
const idsOf = (captures: readonly Capture[]) => captures.map(({ id }) => id);

test("while it fits, nothing has to go", () => {
  expect(makeRoom([capture(llama, 1, "running"), capture(llama, 2)], wanted(llama, 3), budget)).toEqual([]);
});

test("as many of those it overtakes go as it needs, the oldest first, and never the one being sent", () => {
  const captures = [capture(llama, 1, "running"), capture(llama, 2), capture(llama, 3)];
  expect(idsOf(makeRoom(captures, wanted(llama, 4), budget))).toEqual(["llama-2"]);
  expect(idsOf(makeRoom(captures, wanted(llama, 4, 700 * MB), budget))).toEqual(["llama-2", "llama-3"]);
});

test("the only waiting capture of another run stays", () => {
  const captures = [capture(whisper, 1), capture(llama, 2, "running"), capture(whisper, 3)];
  expect(idsOf(makeRoom(captures, wanted(llama, 4), budget))).toEqual(["whisper-1"]);
  const last = [capture(whisper, 1), capture(llama, 2, "running"), capture(llama, 3, "paused")];
  expect(() => makeRoom(last, wanted(llama, 4), budget)).toThrow("llama step 4");
});

test("those that failed make room for what is newer of their run, before those that still may become safe", () => {
  const captures = [capture(llama, 1), capture(llama, 2, "failed"), capture(llama, 3, "failed")];
  expect(idsOf(makeRoom(captures, wanted(llama, 4), budget))).toEqual(["llama-2"]);
  expect(idsOf(makeRoom(captures, wanted(llama, 4, 1_000 * MB), budget))).toEqual(["llama-2", "llama-3", "llama-1"]);
  expect(() => makeRoom(captures, wanted(llama, 2, 800 * MB), budget)).toThrow("llama step 2");
});

test("of another run the newest that failed stays: it may be all that there is of it", () => {
  const captures = [capture(whisper, 1, "failed"), capture(whisper, 2, "failed"), capture(llama, 3, "running")];
  expect(idsOf(makeRoom(captures, wanted(llama, 4), budget))).toEqual(["whisper-1"]);
  expect(() => makeRoom(captures, wanted(llama, 4, 700 * MB), budget)).toThrow("llama step 4");
});

test("what does not fit at all is refused, with the sizes", () => {
  expect(() => makeRoom([], wanted(llama, 4, 2_000 * MB), budget)).toThrow(/it has .* are allowed\)/);
  expect(() => makeRoom([capture(llama, 1, "running")], wanted(llama, 4, 900 * MB), budget)).toThrow(
    /held by captures that are not safe yet/,
  );
});

test("an older one than those that wait does not push them out", () => {
  const captures = [capture(llama, 5), capture(llama, 6), capture(llama, 7)];
  expect(() => makeRoom(captures, wanted(llama, 4), budget)).toThrow("llama step 4");
});

test("copies that come at the same time do not count on the same room", async () => {
  const captures: Capture[] = [];
  const passed: string[] = [];
  const disk = createDisk({
    budget: { mostBytes: 500 * MB },
    captures: () => captures,
    passOver: (items) => {
      for (const item of items) {
        passed.push(item.id);
        captures.splice(captures.indexOf(item), 1);
      }
      return Promise.resolve();
    },
  });
  const copy = (run: RunName, step: number) =>
    disk.withRoom(wanted(run, step), () => {
      captures.push(capture(run, step));
      return Promise.resolve(step);
    });
  const outcomes = await Promise.allSettled([copy(llama, 1), copy(llama, 2), copy(whisper, 3)]);
  expect(outcomes.map(({ status }) => status)).toEqual(["fulfilled", "fulfilled", "rejected"]);
  expect(passed).toEqual(["llama-1"]);
  expect(idsOf(captures)).toEqual(["llama-2"]);
});

test("a final model pushes out earlier final models, and no checkpoint that waits", () => {
  const final = { ...capture(llama, 50), id: "final-50", role: "final-model" as const };
  const full = [capture(llama, 40), capture(llama, 50), final];
  const asked = { ...wanted(llama, 60), role: "final-model" as const };
  expect(idsOf(makeRoom(full, asked, budget))).toEqual(["final-50"]);
});

test("the newest of a line that the run has left stays, unless there is no other room for what is trained now", () => {
  const before = [capture(llama, 190), { ...capture(llama, 200), id: "old-200" }];
  const now = { ...capture(llama, 10), epoch: 2 };
  const asked = (sizeBytes: number) => ({ ...wanted(llama, 20, sizeBytes), epoch: 2 });
  expect(idsOf(makeRoom([...before, now], asked(300 * MB), budget))).toEqual(["llama-10"]);
  expect(idsOf(makeRoom([...before, now], asked(1_000 * MB), budget))).toEqual(["llama-10", "llama-190", "old-200"]);
});
