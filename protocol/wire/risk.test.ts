import { expect, test } from "vitest";
import { addRisks, riskOf, workStateOf } from "./risk.ts";
import { makeRunBacklog } from "../testing/make-run-backlog.ts";
import type { RunBacklog } from "./reports.ts";

const MIN = 60_000;
const at = (change: Partial<RunBacklog>): RunBacklog => {
  const safe = { safeStep: 400, safeAt: 0, safeBytes: 100, localStep: 400, localAt: 0 };
  return makeRunBacklog({ ...safe, intervalMs: 5 * MIN, ...change });
};

test("training since the newest safe step is what would be lost, also when everything captured is safe", () => {
  expect(riskOf(at({}), 4 * MIN).lossMs).toBe(4 * MIN);
});

test("a program that stopped with everything safe loses nothing", () => {
  expect(riskOf(at({}), 60 * MIN).lossMs).toBe(0);
});

test("before the first safe step everything since the start would be lost", () => {
  const run = at({ safeStep: null, safeAt: null, localStep: 100, localAt: 7 * MIN, unsafeCheckpoints: 1 });
  expect(riskOf(run, 9 * MIN)).toMatchObject({ lossMs: 9 * MIN, steps: 100 });
});

test("a stopped program with an unsafe step loses the training up to that step", () => {
  const run = at({ localStep: 500, localAt: 5 * MIN, unsafeCheckpoints: 1, unsafeBytes: 10, oldestUnsafeAt: 5 * MIN });
  expect(riskOf(run, 120 * MIN)).toMatchObject({ lossMs: 5 * MIN, bytes: 10, steps: 100 });
});

test("before the first checkpoint is written all that was trained would be lost, however long it takes", () => {
  const none = { safeStep: null, safeAt: null, localStep: null, localAt: null, intervalMs: null, trainedStep: 777 };
  const after = (minutes: number) => riskOf(at({ ...none, trainedAt: minutes * MIN }), minutes * MIN);
  for (const minutes of [9, 11, 50]) expect(after(minutes)).toMatchObject({ lossMs: minutes * MIN, steps: 777 });
});

test("what was trained beyond the newest checkpoint counts as steps and as time", () => {
  const run = at({ trainedStep: 460, trainedAt: 70 * MIN });
  expect(riskOf(run, 70 * MIN)).toMatchObject({ lossMs: 70 * MIN, steps: 60 });
});

test("time in which nothing trained is not lost: it goes on from what was written five hours ago", () => {
  const idleMs = 300 * MIN;
  const training = at({ idleMs, trainedStep: 410, trainedAt: 320 * MIN });
  expect(riskOf(training, 320 * MIN)).toMatchObject({ lossMs: 20 * MIN, steps: 10 });
  const captured = { ...training, localStep: 420, localAt: 320 * MIN, unsafeCheckpoints: 1, oldestUnsafeAt: 320 * MIN };
  expect(riskOf(captured, 321 * MIN)).toMatchObject({ lossMs: 21 * MIN, steps: 20 });
});

test("a restored checkpoint is as old as its restore, for what is lost since", () => {
  const restored = at({ localAt: 0, safeAt: 300 * MIN, trainedStep: 400, trainedAt: 320 * MIN });
  expect(riskOf(restored, 320 * MIN).lossMs).toBe(20 * MIN);
});

test("a program that was last seen at work long ago has lost what it trained until then", () => {
  expect(riskOf(at({ trainedStep: 450, trainedAt: 12 * MIN }), 600 * MIN)).toMatchObject({
    lossMs: 12 * MIN,
    steps: 50,
  });
});

test("one upload on its way is moving; work that piles up or waits too long is at risk", () => {
  expect(workStateOf(at({}), MIN)).toBe("safe");
  const one = at({ unsafeCheckpoints: 1, oldestUnsafeAt: 0 });
  expect(workStateOf(one, 4 * MIN)).toBe("moving");
  expect(workStateOf(one, 11 * MIN)).toBe("risk");
  expect(workStateOf(at({ unsafeCheckpoints: 3, oldestUnsafeAt: 0 }), 6 * MIN)).toBe("risk");
});

test("risks add up and keep the oldest", () => {
  const a = riskOf(at({ unsafeBytes: 1, oldestUnsafeAt: 9 }), MIN);
  const b = riskOf(at({ unsafeBytes: 2, oldestUnsafeAt: 5 }), MIN);
  expect(addRisks([a, b])).toMatchObject({ bytes: 3, lossMs: 2 * MIN, oldestUnsafeAt: 5 });
});
