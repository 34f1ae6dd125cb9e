import { expect, test } from "vitest";
import { DEFAULT_LIMITS, judge, type Asked } from "./judge-reallocation.ts";

const MINUTE_MS = 60_000;
const NOW = 1_800_000_000_000;
const asked = (changes: Partial<Asked> = {}): Asked => ({
  now: NOW,
  machine: "this",
  probed: { machines: 0, rejected: 0 },
  grants: [],
  givenBackAt: null,
  ...changes,
});
const probes = (rejected: number, machines: number) => ({ machines, rejected });
const grants = (count: number, about: { minutesAgo: number; machine?: string }) =>
  Array.from({ length: count }, (_, at) => ({
    at: NOW - about.minutesAgo * MINUTE_MS,
    machine: about.machine ?? `other-${at}`,
  }));
const may = (changes: Partial<Asked>) => judge(asked(changes), DEFAULT_LIMITS);

test("a machine that nothing speaks for may go", () => {
  expect(may({})).toEqual({ allowed: true, reason: "reallocation 1 of 10 in this hour", isHereAgain: false });
});

test("the budget is that of the last hour", () => {
  expect(may({ grants: grants(9, { minutesAgo: 59 }) }).allowed).toBe(true);
  expect(may({ grants: grants(10, { minutesAgo: 59 }) })).toEqual({
    allowed: false,
    reason: "the fleet's budget of 10 reallocations an hour is used up",
    isHereAgain: false,
  });
  expect(may({ grants: grants(10, { minutesAgo: 60 }) }).allowed).toBe(true);
});

test("a machine that comes back at once stays, another one may go", () => {
  expect(may({ grants: grants(1, { minutesAgo: 4, machine: "this" }) }).reason).toContain("is here again");
  expect(may({ grants: grants(1, { minutesAgo: 4 }) }).allowed).toBe(true);
  expect(may({ grants: grants(1, { minutesAgo: 5, machine: "this" }) }).allowed).toBe(true);
});

test("a machine that was given back and is still here goes: no pause, no budget and no quorum keeps it", () => {
  const against = {
    probed: probes(10, 10),
    grants: [...grants(10, { minutesAgo: 3 }), ...grants(1, { minutesAgo: 3, machine: "this" })],
  };
  expect(may({ ...against, givenBackAt: NOW - 3 * MINUTE_MS })).toEqual({
    allowed: true,
    reason: "this machine was given back 3 min ago and is here again",
    isHereAgain: true,
  });
  expect(may({ ...against, givenBackAt: NOW - DEFAULT_LIMITS.excludeMs }).allowed).toBe(false);
});

test("when most are rejected it is the endpoint, and nobody goes", () => {
  expect(may({ probed: probes(6, 10) })).toEqual({
    allowed: false,
    reason: "6 of the 10 machines that probed within 10 min found it too slow: it is the endpoint, not the machine",
    isHereAgain: false,
  });
  // Half is not most.
  expect(may({ probed: probes(5, 10) }).allowed).toBe(true);
  expect(may({ probed: probes(5, 5) }).allowed).toBe(false);
});

test.each([
  [1, 1, true],
  [1, 2, true],
  [2, 2, false],
  [1, 3, true],
  [2, 3, false],
  [1, 4, true],
  [2, 4, true],
  [3, 4, false],
  [4, 4, false],
])("of a small fleet %i of %i rejected: the last of them may go: %s", (rejected, machines, allowed) => {
  expect(may({ probed: probes(rejected, machines) }).allowed).toBe(allowed);
});

test("a budget of nothing says so", () => {
  expect(judge(asked(), { ...DEFAULT_LIMITS, perHour: 0 })).toEqual({
    allowed: false,
    reason: "this hub reallocates nobody",
    isHereAgain: false,
  });
});
