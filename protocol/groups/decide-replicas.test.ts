import { describe, expect, it } from "vitest";
import { decideReplicas, type ScalingDecision, type ScalingFacts } from "./decide-replicas.ts";

const MINUTE_MS = 60_000;
const NOW = 1_800_000_000_000;
const usual: ScalingFacts = {
  limits: { min: 0, max: 10, idleMs: 5 * MINUTE_MS, cooldownMs: 10 * MINUTE_MS },
  waiting: 0,
  isQueuePaused: false,
  leased: 0,
  endedLately: 0,
  busy: 0,
  unsafe: 0,
  replicas: 4,
  isStopped: false,
  lowerSince: null,
  now: NOW,
};
const LONG_AGO = NOW - 10 * MINUTE_MS;
const stopped = { replicas: 0, isStopped: true };

interface Case {
  of: string;
  facts: Partial<ScalingFacts>;
  gives: Partial<ScalingDecision>;
}

const cases: Case[] = [
  {
    of: "waiting and leased jobs let it grow at once",
    facts: { waiting: 3, leased: 4, busy: 4 },
    gives: { action: "grow", replicas: 7, reason: "Grew from 4 to 7: 3 jobs wait and 4 run.", lowerSince: null },
  },
  {
    of: "it grows at once although fewer were enough a moment ago",
    facts: { waiting: 5, lowerSince: NOW - 1 },
    gives: { action: "grow", replicas: 5, lowerSince: null },
  },
  {
    of: "never beyond the most of its rule",
    facts: { waiting: 900 },
    gives: {
      action: "grow",
      replicas: 10,
      reason: "Grew from 4 to 10: 900 jobs wait and 0 run, at most 10 by its rule.",
    },
  },
  {
    of: "a person set the most below the instances at work: none of them is taken",
    facts: { limits: { ...usual.limits, max: 2 }, leased: 4, busy: 4, lowerSince: LONG_AGO },
    gives: { action: "keep", replicas: 4, reason: "Keeps 4: 4 instances work on jobs.", lowerSince: null },
  },
  {
    of: "as many as are wanted: it stays",
    facts: { leased: 4, busy: 4, lowerSince: LONG_AGO },
    gives: { action: "keep", replicas: 4, lowerSince: null },
  },
  {
    of: "fewer are enough: the cooldown begins",
    facts: { leased: 1, busy: 1 },
    gives: {
      action: "keep",
      replicas: 4,
      lowerSince: NOW,
      reason: "Keeps 4 for another 10 min although 1 would do: 0 jobs wait and 1 runs.",
    },
  },
  {
    of: "one moment before the end of the cooldown it still stays",
    facts: { leased: 1, busy: 1, lowerSince: LONG_AGO + 1 },
    gives: { action: "keep", replicas: 4, lowerSince: LONG_AGO + 1 },
  },
  {
    of: "after the cooldown it shrinks",
    facts: { leased: 1, busy: 1, lowerSince: LONG_AGO },
    gives: { action: "shrink", replicas: 1, reason: "Shrank from 4 to 1: 0 jobs wait and 1 runs.", lowerSince: null },
  },
  {
    of: "it shrinks to the instances that have something unsafe, not below",
    facts: { busy: 3, unsafe: 3, lowerSince: LONG_AGO },
    gives: {
      action: "shrink",
      replicas: 3,
      reason: "Shrank from 4 to 3: 3 instances have something that is not safe.",
    },
  },
  {
    of: "jobs that ended within the idle time count",
    facts: { endedLately: 2, lowerSince: LONG_AGO },
    gives: { action: "shrink", replicas: 2, reason: "Shrank from 4 to 2: 0 jobs wait, 0 run and 2 ended lately." },
  },
  {
    of: "nothing wanted: it stops after the cooldown",
    facts: { lowerSince: LONG_AGO },
    gives: { action: "stop", replicas: 0, reason: "Stopped: no job waits or runs.", lowerSince: null },
  },
  {
    of: "the least of its rule keeps it from stopping",
    facts: { limits: { ...usual.limits, min: 1 }, lowerSince: LONG_AGO },
    gives: {
      action: "shrink",
      replicas: 1,
      reason: "Shrank from 4 to 1: no job waits or runs, at least 1 by its rule.",
    },
  },
  {
    of: "one instance with something unsafe keeps it from stopping, with a most of 0 too",
    facts: { limits: { ...usual.limits, max: 0 }, replicas: 1, busy: 1, unsafe: 1, lowerSince: LONG_AGO },
    gives: { action: "keep", replicas: 1, reason: "Keeps 1: 1 instance has something that is not safe." },
  },
  {
    of: "a paused queue hands nothing out, so what waits in it does not count",
    facts: { waiting: 50, isQueuePaused: true, leased: 4, busy: 4 },
    gives: { action: "keep", replicas: 4, reason: "Keeps 4: its queue is paused, and 4 jobs run." },
  },
  {
    of: "a stopped group starts with what is wanted",
    facts: { ...stopped, waiting: 2 },
    gives: { action: "start", replicas: 2, reason: "Started with 2: 2 jobs wait and 0 run." },
  },
  {
    of: "a stopped group of which nothing is wanted stays stopped",
    facts: { ...stopped, lowerSince: LONG_AGO },
    gives: { action: "keep", replicas: 0, reason: "Stays stopped: no job waits or runs.", lowerSince: null },
  },
  {
    of: "a cooldown of nothing shrinks at once",
    facts: { limits: { ...usual.limits, cooldownMs: 0 }, leased: 1, busy: 1 },
    gives: { action: "shrink", replicas: 1 },
  },
  {
    of: "a clock that was set back begins the cooldown again",
    facts: { lowerSince: NOW + MINUTE_MS },
    gives: { action: "keep", lowerSince: NOW },
  },
];

describe("the decision about a group", () => {
  it.each(cases)("$of", ({ facts, gives }) => {
    expect(decideReplicas({ ...usual, ...facts })).toMatchObject(gives);
  });

  it("never stops or shrinks below what is busy, whatever else is said", () => {
    for (const busy of [1, 2, 5, 9]) {
      for (const max of [0, 1, 4, 10]) {
        for (const waiting of [0, 1, 20]) {
          for (const replicas of [busy, busy + 3]) {
            const facts = { ...usual, limits: { min: 0, max, idleMs: 0, cooldownMs: 0 }, busy, waiting, replicas };
            const { action, replicas: after } = decideReplicas({ ...facts, lowerSince: LONG_AGO });
            expect(action).not.toBe("stop");
            expect(after).toBeGreaterThanOrEqual(busy);
          }
        }
      }
    }
  });
});
