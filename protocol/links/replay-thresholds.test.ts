import { expect, test } from "vitest";
import { DEFAULT_LIMITS, type ReallocationLimits } from "./judge-reallocation.ts";
import { NO_THRESHOLDS, type LinkThresholds } from "./probe.ts";
import { randomFrom } from "../base/random-from.ts";
import { replayStarts, type EarlierGrant, type Fate, type Start } from "./replay-thresholds.ts";
import { sumFates } from "./sum-fates.ts";

const MINUTE_MS = 60_000;
const HOUR_MS = 60 * MINUTE_MS;
const NOON = 1_800_000_000_000;

const start = (changes: Partial<Omit<Start, "link">> & { up?: number } = {}): Start => {
  const { up = 5e6, ...rest } = changes;
  const link = { up, down: 9e6, rttMs: 40, clockSkewMs: 0, isUpSteady: true, isDownSteady: true };
  return { at: NOON, node: 0, machine: 0, profile: 0, isRented: true, ...rest, link };
};
const least = (up: number): LinkThresholds => ({ ...NO_THRESHOLDS, up });
const replay = (
  starts: readonly Start[],
  changes: { limits?: Partial<ReallocationLimits>; earlier?: EarlierGrant[] } = {},
) =>
  replayStarts(starts, {
    thresholds: least(4e6),
    limits: { ...DEFAULT_LIMITS, ...changes.limits },
    earlier: changes.earlier ?? [],
  });

test("a machine that is given back is away for two days, and then measured anew", () => {
  const again = (hours: number) => start({ up: 1e6, at: NOON + hours * HOUR_MS });
  expect(replay([again(0), again(1), again(47.9), again(48)])).toEqual(["given-back", "away", "away", "given-back"]);
  expect(replay([again(0)], { earlier: [{ at: NOON - 47 * HOUR_MS, machine: 0 }] })).toEqual(["away"]);
});

test("a machine that was accepted is not measured for a day, whatever it would have shown", () => {
  const later = (hours: number, up: number) => start({ at: NOON + hours * HOUR_MS, up });
  expect(replay([later(0, 5e6), later(23, 1e6), later(24, 1e6)])).toEqual(["accept", "known", "given-back"]);
});

test("the budget of an hour is of the whole fleet, with what was given back before", () => {
  const slow = (count: number, at = NOON) =>
    Array.from({ length: count }, (_, index) =>
      start({ at: at + index * MINUTE_MS, machine: index, node: index, profile: index, up: 1e6 }),
    );
  const limits = { perHour: 2 };
  expect(replay(slow(3), { limits })).toEqual(["given-back", "given-back", "budget"]);
  const earlier = [{ at: NOON - 59 * MINUTE_MS, machine: 9 }];
  expect(replay(slow(3), { limits, earlier })).toEqual(["given-back", "given-back", "budget"]);
  expect(replay(slow(2, NOON), { limits: { perHour: 1 }, earlier })).toEqual(["budget", "given-back"]);
});

test("nobody goes while most machines of a bucket are rejected, each counted with its last word", () => {
  const slow = (node: number, profile = 0) => start({ node, machine: node, profile, up: 1e6, at: NOON + node * 1000 });
  const fates = replay([0, 1, 2, 3, 4, 5].map((node) => slow(node)));
  expect(fates).toEqual(["given-back", "quorum", "quorum", "quorum", "quorum", "quorum"]);
  expect(replay([0, 1, 2, 3, 4, 5].map((node) => slow(node, node)))).not.toContain("quorum");
  // One machine has one voice, whichever node it is.
  const one = [0, 1, 2, 3, 4, 5].map((node) => ({ ...slow(node), machine: 0 }));
  expect(replay(one, { limits: { perHour: 0 } })).not.toContain("quorum");
});

test("where machines are not exchanged a rejected worker ends", () => {
  expect(replay([start({ isRented: false, up: 1e6 }), start({ isRented: false, up: 1e6 })])).toEqual(["ends", "ends"]);
});

test("what it comes to counts each start once and averages what goes on", () => {
  const starts = [
    start({ up: 8e6 }),
    start({ machine: 1, up: 3.8e6 }),
    start({ machine: 2, up: 1e6 }),
    start({ machine: 3, up: 2e6, isRented: false }),
    start({ machine: 2, up: 1e6, at: NOON + HOUR_MS }),
  ];
  const fates = replay(starts);
  expect(sumFates(starts, fates, { startMs: 10 * MINUTE_MS, excludeMs: 48 * HOUR_MS })).toEqual({
    starts: 5,
    accepted: 1,
    warned: 1,
    rejected: 2,
    givenBack: 1,
    kept: 0,
    ended: 1,
    away: 1,
    mostAway: 1,
    meanUp: 5.9e6,
    meanDown: 9e6,
    startMs: 10 * MINUTE_MS,
  });
});

/** The rules counted again from the beginning at each start, without a word of the code that is tested. */
function recount(starts: readonly Start[], thresholds: LinkThresholds, limits: ReallocationLimits): Fate[] {
  const fates: Fate[] = [];
  const verdictOf = ({ link }: Start): Fate => {
    const misses = [
      thresholds.up === null || link.up === null ? 0 : 1 - link.up / thresholds.up,
      thresholds.down === null || link.down === null ? 0 : 1 - link.down / thresholds.down,
      thresholds.rttMs === null || link.rttMs === null ? 0 : link.rttMs / thresholds.rttMs - 1,
    ];
    const settled = [link.isUpSteady, link.isDownSteady, true];
    if (misses.some((miss, way) => miss > (settled[way] === true ? 0.1 : 0.5))) return "given-back";
    const isUnknown = link.up === null || link.down === null || (thresholds.rttMs !== null && link.rttMs === null);
    return isUnknown || misses.some((miss) => miss > 0) ? "warn" : "accept";
  };
  const isProbe = (fate: Fate | undefined) => fate !== "known" && fate !== "away";
  for (const [index, one] of starts.entries()) {
    const before = starts.slice(0, index).map((other, at) => ({ ...other, fate: fates[at] }));
    const given = before.filter(({ fate }) => fate === "given-back");
    if (given.some(({ machine, at }) => machine === one.machine && one.at - at < limits.excludeMs)) {
      fates.push("away");
      continue;
    }
    const last = before.findLast(
      (other) => other.machine === one.machine && other.profile === one.profile && isProbe(other.fate),
    );
    if (last?.fate === "accept" && one.at - last.at < limits.goodForMs) {
      fates.push("known");
      continue;
    }
    const verdict = verdictOf(one);
    if (verdict !== "given-back") {
      fates.push(verdict);
      continue;
    }
    const lately = [...before, { ...one, fate: verdict }].filter(
      (other) => other.profile === one.profile && one.at - other.at < 600_000 && isProbe(other.fate),
    );
    const voices = new Map(lately.map((other) => [other.machine, verdictOf(other) === "given-back"]));
    const against = [...voices.values()].filter((isRejected) => isRejected).length;
    const spent = given.filter(({ at }) => one.at - at < HOUR_MS).length;
    if (!one.isRented) fates.push("ends");
    else if (against >= limits.quorumLeast && against / voices.size > limits.quorumShare) fates.push("quorum");
    else if (given.some(({ machine, at }) => machine === one.machine && one.at - at < limits.cooldownMs)) {
      fates.push("cooldown");
    } else fates.push(spent >= limits.perHour ? "budget" : "given-back");
  }
  return fates;
}

test("any history and any thresholds come to what a recount from the beginning comes to", () => {
  const seen = new Set<string>();
  for (let seed = 1; seed <= 60; seed++) {
    const random = randomFrom(seed);
    const pick = (most: number) => Math.floor(random() * most);
    const maybe = (value: number) => (random() < 0.06 ? null : value);
    let at = NOON;
    const starts = Array.from({ length: 160 }, (): Start => {
      at += Math.floor(random() ** 3 * (seed % 2 === 0 ? 20 : 300) * MINUTE_MS);
      const machine = pick(30);
      const link = {
        up: maybe(random() ** 2 * 2e7),
        down: maybe(random() ** 2 * 8e7),
        rttMs: maybe(10 + random() * 250),
        clockSkewMs: null,
        isUpSteady: random() < 0.8,
        isDownSteady: random() < 0.8,
      };
      return { at, node: pick(40), machine, profile: pick(3), isRented: machine % 5 !== 0, link };
    });
    const limits = {
      perHour: pick(6),
      cooldownMs: pick(90) * MINUTE_MS,
      quorumShare: random(),
      quorumLeast: 1 + pick(6),
      excludeMs: pick(50) * HOUR_MS * (seed % 3 === 0 ? 0 : 1),
      goodForMs: pick(30) * HOUR_MS,
    };
    const thresholds = {
      up: random() < 0.2 ? null : random() * 1e7,
      down: random() < 0.2 ? null : random() * 3e7,
      rttMs: random() < 0.5 ? null : 60 + random() * 200,
    };
    const fates = replayStarts(starts, { thresholds, limits, earlier: [] });
    expect(fates, `seed ${seed}`).toEqual(recount(starts, thresholds, limits));
    for (const fate of fates) seen.add(fate);
  }
  // All of them happened, or the recount would prove little.
  expect([...seen].toSorted()).toEqual(
    ["accept", "away", "budget", "cooldown", "ends", "given-back", "known", "quorum", "warn"].toSorted(),
  );
});
