import { expect, test } from "vitest";
import { runName } from "#protocol/base/names.ts";
import { lossOf, type Interruption } from "./loss-of.ts";

const run = runName.parse("story");
const interruption = (change: Partial<Interruption>): Interruption => ({
  run,
  epoch: 2,
  from: { step: 120, at: 1_000_000 },
  last: { step: 137, at: 1_090_000 },
  beganAt: 0,
  ...change,
});

test("what lies between the last step and the one it goes on from is lost, with the time it took", () => {
  expect(lossOf(interruption({}))).toMatchObject({ fromStep: 120, lastStep: 137, lostSteps: 17, lostMs: 90_000 });
});

test("a run that goes back to its beginning has lost all of it", () => {
  expect(lossOf(interruption({ from: null, beganAt: 500_000 }))).toMatchObject({
    fromStep: null,
    lostSteps: 137,
    lostMs: 590_000,
  });
});

test("time in which nothing trained was not lost", () => {
  const last = { step: 137, at: 90_000_000, resumed: { at: 89_910_000, fromAt: null } };
  expect(lossOf(interruption({ last }))?.lostMs).toBe(90_000);
  // It went on from one that was not safe, written 40 s after the one that it goes on from now.
  const carried = { ...last, resumed: { at: 89_910_000, fromAt: 1_040_000 } };
  expect(lossOf(interruption({ last: carried }))?.lostMs).toBe(130_000);
});

test("nothing is lost when it goes on from the step it had come to, or when nobody knows how far that was", () => {
  expect(lossOf(interruption({ last: { step: 120, at: 2_000_000 } }))).toBeNull();
  expect(lossOf(interruption({ last: null }))).toBeNull();
});

test("told twice it has the same id, and another interruption has another", () => {
  const id = lossOf(interruption({}))?.lossId;
  expect(lossOf(interruption({}))?.lossId).toBe(id);
  expect(lossOf(interruption({ last: { step: 137, at: 1_090_001 } }))?.lossId).not.toBe(id);
  expect(id).toMatch(/^[0-9a-f]{32}$/);
});

test("of a program that says no steps the time is told where no step is known, and a reckoned step as reckoned", () => {
  const silent = { step: 120, at: 1_030_000, isExact: false };
  expect(lossOf(interruption({ last: silent }))).toMatchObject({ lostSteps: 0, lostMs: 30_000, isEstimated: true });
  // Within the error of when it was last seen at work.
  expect(lossOf(interruption({ last: { ...silent, at: 1_004_000 } }))).toBeNull();
  const reckoned = { step: 139, at: 1_030_000, isExact: false, isEstimated: true };
  expect(lossOf(interruption({ last: reckoned }))).toMatchObject({ lostSteps: 19, isEstimated: true });
  expect(lossOf(interruption({}))).not.toHaveProperty("isEstimated");
});
