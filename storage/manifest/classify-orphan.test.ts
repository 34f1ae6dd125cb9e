import { describe, expect, it } from "vitest";
import { isOldProbe, OLD_ENOUGH_MS, whyKept, type RunFacts } from "./classify-orphan.ts";

const NOW = 1_800_000_000_000;
const OLD = NOW - OLD_ENOUGH_MS - 1;
const run = (changes: Partial<RunFacts> = {}): RunFacts => ({
  currentEpoch: 2,
  highestInBucket: 2,
  claimedAt: new Map([
    [1, OLD - 1],
    [2, OLD],
  ]),
  ...changes,
});
const leftover = { epoch: 1, modifiedAt: OLD, isNamed: false };

describe("what nobody needs", () => {
  it("is old, of an epoch that has long been over, and named by nothing", () => {
    expect(whyKept(run(), leftover, NOW)).toBeNull();
  });

  it.each([
    ["a run that this hub does not know here", null, leftover, "unknown"],
    ["a run of which the bucket knows a later claim", run({ highestInBucket: 3 }), leftover, "unknown"],
    ["an epoch that was never claimed", run(), { ...leftover, epoch: 0 }, "unknown"],
    ["an attempt that a manifest names", run(), { ...leftover, isNamed: true }, "live"],
    ["the present epoch", run(), { ...leftover, epoch: 2 }, "open-epoch"],
    ["an object that is young", run(), { ...leftover, modifiedAt: NOW - OLD_ENOUGH_MS }, "young"],
    ["an object without a date", run(), { ...leftover, modifiedAt: 0 }, "young"],
    [
      "an epoch that is over since lately",
      run({
        claimedAt: new Map([
          [1, OLD - 1],
          [2, OLD + 1],
        ]),
      }),
      leftover,
      "young",
    ],
  ] as const)("is not %s", (...[, facts, what, why]) => {
    expect(whyKept(facts, what, NOW)).toBe(why);
  });

  it("of a probe is what is old", () => {
    expect([isOldProbe(OLD, NOW), isOldProbe(NOW - OLD_ENOUGH_MS, NOW), isOldProbe(0, NOW)]).toEqual([
      true,
      false,
      false,
    ]);
  });
});
