import { describe, expect, it } from "vitest";
import { deletionCostOf, isCostStale, MOST_DELETION_COST, NOTHING_AT_STAKE } from "./deletion-cost.ts";

describe("the deletion cost of an instance", () => {
  it.each([
    ["idle and all safe", NOTHING_AT_STAKE, 0],
    ["a job, nothing to lose yet", { leases: 1, checkpoints: 0, lossMs: 0, unverified: 0 }, 1_000],
    ["a checkpoint on its way", { leases: 0, checkpoints: 1, lossMs: 0, unverified: 0 }, 5_000],
    ["a minute of training", { leases: 1, checkpoints: 0, lossMs: 60_000, unverified: 0 }, 1_600],
    ["an hour and a checkpoint", { leases: 1, checkpoints: 1, lossMs: 3_600_000, unverified: 0 }, 42_000],
    [
      "a day: the most that the provider takes",
      { leases: 1, checkpoints: 1, lossMs: 86_400_000, unverified: 0 },
      MOST_DELETION_COST,
    ],
    ["a Kelpie worker's job", { leases: 1, checkpoints: 0, lossMs: 0, unverified: 1 }, 6_000],
    ["a broken clock", { leases: 0, checkpoints: 0, lossMs: -5_000, unverified: 0 }, 0],
  ])("%s", (_, stake, cost) => {
    expect(deletionCostOf(stake)).toBe(cost);
  });

  it.each([
    [null, 0, false],
    [null, 1_000, true],
    [0, 0, false],
    [700, 0, true],
    [700, 1_000, true],
    [900, 1_000, false],
    [50_000, 1_000, false],
    [90_000, MOST_DELETION_COST, true],
  ])("shown %s, wanted %s: to be told %s", (shown, wanted, isStale) => {
    expect(isCostStale(shown, wanted)).toBe(isStale);
  });
});
