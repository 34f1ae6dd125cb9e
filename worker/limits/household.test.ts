import { describe, expect, test } from "vitest";
import { baseRttOf, HOUSEHOLD_START, rateOfHousehold, stepHousehold, type HouseholdState } from "./household.ts";

/**
 * A link with a queue, in steps of 10 ms. We send what we are allowed (all that fits, without a limit: the queue is then
 * always full, as with many connections), `lagMs` after we were allowed it; others send at their own rate.
 */
interface Link {
  bytesPerSecond: number;
  baseRttMs: number;
  queueMs: number;
  lagMs: number;
}

interface Moment {
  second: number;
  /** Ours that arrived in this second. */
  ours: number;
  rttMs: number;
}

function live(about: {
  link: Link;
  seconds: number;
  shareForOthers?: number;
  othersAt?: (second: number) => number;
  noiseMs?: () => number;
}): { moments: Moment[]; state: HouseholdState } {
  const { link, seconds, othersAt = () => 0, shareForOthers = 0, noiseMs = () => 0 } = about;
  const stepMs = 10;
  const capacity = (link.bytesPerSecond * stepMs) / 1000;
  const most = (link.bytesPerSecond * link.queueMs) / 1000;
  const queue = { ours: 0, others: 0 };
  const allowed: { atMs: number; rate: number | null }[] = [{ atMs: -Infinity, rate: null }];
  const moments: Moment[] = [];
  let state = HOUSEHOLD_START;
  let movedBytes = 0;
  let arrived = 0;
  for (let nowMs = 0; nowMs < seconds * 1000; nowMs += stepMs) {
    if (nowMs % 1000 === 0) {
      const rttMs = link.baseRttMs + ((queue.ours + queue.others) / link.bytesPerSecond) * 1000;
      state = stepHousehold(
        state,
        { atMs: nowMs, rttMs: rttMs + noiseMs(), movedBytes, spanMs: 1_000 },
        shareForOthers,
      );
      allowed.push({ atMs: nowMs, rate: rateOfHousehold(state, nowMs) });
      if (nowMs > 0) moments.push({ second: nowMs / 1000, ours: arrived, rttMs });
      movedBytes = 0;
      arrived = 0;
    }
    const rate = allowed.findLast(({ atMs }) => atMs <= nowMs - link.lagMs)?.rate ?? null;
    const room = () => most + capacity - queue.ours - queue.others;
    queue.others += Math.min(room(), (othersAt(nowMs / 1000) * stepMs) / 1000);
    const sent = Math.max(0, Math.min(room(), rate === null ? Infinity : (rate * stepMs) / 1000));
    queue.ours += sent;
    movedBytes += sent;
    const waiting = queue.ours + queue.others;
    const served = Math.min(1, capacity / Math.max(1, waiting));
    arrived += queue.ours * served;
    queue.ours -= queue.ours * served;
    queue.others -= queue.others * served;
  }
  return { moments, state };
}

const mean = (values: readonly number[]): number => values.reduce((sum, one) => sum + one, 0) / values.length;
const oursOf = (moments: readonly Moment[]) => mean(moments.map(({ ours }) => ours));
const rttOf = (moments: readonly Moment[]) => mean(moments.map(({ rttMs }) => rttMs));
const between = (moments: readonly Moment[], from: number, to: number) =>
  moments.filter(({ second }) => second > from && second <= to);

const links: [string, Link][] = [
  ["2.5 MB/s, 20 ms, half a second of queue", { bytesPerSecond: 2_500_000, baseRttMs: 20, queueMs: 500, lagMs: 200 }],
  ["1 MB/s, 120 ms, a second of queue", { bytesPerSecond: 1_000_000, baseRttMs: 120, queueMs: 1_000, lagMs: 500 }],
  ["25 MB/s, 8 ms, 100 ms of queue", { bytesPerSecond: 25_000_000, baseRttMs: 8, queueMs: 100, lagMs: 100 }],
  ["5 MB/s, 40 ms, slow to follow", { bytesPerSecond: 5_000_000, baseRttMs: 40, queueMs: 400, lagMs: 1_000 }],
];

describe.each(links)("%s", (_, link) => {
  const mostMs = Math.max(15, link.baseRttMs / 2);

  test("alone, at least 80 % of the link is used and the round trip stays near the target", () => {
    const { moments, state } = live({ link, seconds: 120 });
    const steady = between(moments, 20, 120);
    expect(baseRttOf(state)).toBeCloseTo(link.baseRttMs, 0);
    expect(oursOf(steady)).toBeGreaterThan(0.8 * link.bytesPerSecond);
    expect(rttOf(steady)).toBeLessThan(link.baseRttMs + mostMs + 10);
  });

  test("when somebody takes 60 % we give way within ten seconds, and come back when they are gone", () => {
    const othersAt = (second: number) => (second > 60 && second <= 120 ? 0.6 * link.bytesPerSecond : 0);
    const { moments } = live({ link, seconds: 180, othersAt });
    expect(oursOf(between(moments, 70, 120))).toBeLessThan(0.42 * link.bytesPerSecond);
    expect(rttOf(between(moments, 70, 120))).toBeLessThan(link.baseRttMs + mostMs + 30);
    expect(oursOf(between(moments, 70, 120))).toBeGreaterThan(0.2 * link.bytesPerSecond);
    expect(oursOf(between(moments, 140, 180))).toBeGreaterThan(0.75 * link.bytesPerSecond);
  });

  test("to one who wants everything nearly everything is left", () => {
    const othersAt = (second: number) => (second > 60 ? 1.2 * link.bytesPerSecond : 0);
    const { moments, state } = live({ link, seconds: 120, othersAt });
    expect(oursOf(between(moments, 80, 120))).toBeLessThan(0.1 * link.bytesPerSecond);
    expect(state.rate).toBeGreaterThanOrEqual(64_000);
  });

  test("single late answers do not slow it down", () => {
    let count = 0;
    const noiseMs = () => (++count % 4 === 0 ? 200 : 0);
    const { moments } = live({ link, seconds: 120, noiseMs });
    expect(oursOf(between(moments, 20, 120))).toBeGreaterThan(0.8 * link.bytesPerSecond);
  });

  test("20 % for the others are left to them also when nobody asks", () => {
    const { moments } = live({ link, seconds: 200, shareForOthers: 0.2 });
    const steady = oursOf(between(moments, 20, 200));
    expect(steady).toBeLessThan(0.85 * link.bytesPerSecond);
    expect(steady).toBeGreaterThan(0.6 * link.bytesPerSecond);
  });
});

test("after an hour the idle link is still known for what it is", () => {
  const link = { bytesPerSecond: 2_500_000, baseRttMs: 20, queueMs: 500, lagMs: 200 };
  const { moments, state } = live({ link, seconds: 3_600 });
  expect(baseRttOf(state)).toBeLessThan(link.baseRttMs + 2);
  expect(rttOf(between(moments, 3_000, 3_600))).toBeLessThan(link.baseRttMs + 25);
  expect(oursOf(between(moments, 3_000, 3_600))).toBeGreaterThan(0.85 * link.bytesPerSecond);
});

test("without a queue there is no limit", () => {
  let state = HOUSEHOLD_START;
  for (let second = 0; second < 60; second++) {
    state = stepHousehold(
      state,
      { atMs: second * 1000, rttMs: 30 + (second % 3), movedBytes: 5_000_000, spanMs: 1_000 },
      0,
    );
  }
  expect(state.rate).toBeNull();
});

test("no answer changes nothing", () => {
  const calm = stepHousehold(HOUSEHOLD_START, { atMs: 0, rttMs: 30, movedBytes: 0, spanMs: 1_000 }, 0);
  const after = stepHousehold(calm, { atMs: 1_000, rttMs: null, movedBytes: 5_000_000, spanMs: 1_000 }, 0);
  expect(after.rate).toBeNull();
  expect(baseRttOf(after)).toBe(30);
});

test("a link that became longer for good is the idle link after ten minutes", () => {
  let state = HOUSEHOLD_START;
  for (let second = 0; second <= 12 * 60; second++) {
    const rttMs = second < 30 ? 20 : 90;
    state = stepHousehold(state, { atMs: second * 1000, rttMs, movedBytes: state.rate ?? 5_000_000, spanMs: 1_000 }, 0);
    if (second === 120) expect(state.rate).toBeLessThan(1_000_000);
  }
  expect(baseRttOf(state)).toBe(90);
  expect(state.rate).toBeGreaterThan(2_000_000);
});
