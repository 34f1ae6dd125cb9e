import { describe, expect, test } from "vitest";
import { stepSearch, startSearch, type SearchSample, type SearchState } from "./concurrency-search.ts";

const MIB = 1024 * 1024;
const limits = { first: 10, ramp: 40, most: 96 };

/** A link on which `rateOf(width)` bytes per second move; looked at every 50 ms. */
function simulate(options: {
  seconds: number;
  rateOf: (width: number, at: number) => number;
  rttMs?: number;
  presentRtt?: (at: number) => number;
  /** How long it takes to be told that. */
  answerMs?: number;
  isHungry?: (at: number) => boolean;
  throttledAt?: readonly number[];
  from?: SearchState;
}) {
  const { seconds, rateOf, rttMs = 40, presentRtt = () => rttMs, isHungry = () => true } = options;
  let state = options.from ?? startSearch(limits, 0);
  const widths: number[] = [];
  let bytes = state.windowBytes;
  let throttles = [...(options.throttledAt ?? [])];
  let askedAt = Infinity;
  let asked = 0;
  for (let at = 50; at <= seconds * 1000; at += 50) {
    bytes += rateOf(state.width, at) * 0.05;
    const isThrottled = throttles[0] !== undefined && throttles[0] <= at;
    if (isThrottled) throttles = throttles.slice(1);
    askedAt = state.asksRtt ? Math.min(askedAt, at) : Infinity;
    const isAnswered = state.asksRtt && at - askedAt >= (options.answerMs ?? 0);
    if (isAnswered) {
      asked++;
      askedAt = Infinity;
    }
    const sample: SearchSample = {
      at,
      bytes,
      isHungry: isHungry(at),
      rttMs,
      presentRttMs: isAnswered ? presentRtt(at) : null,
      isThrottled,
    };
    state = stepSearch(state, sample, limits);
    widths.push(state.width);
  }
  return { state, widths, last: state.width, asked };
}

describe("the number of connections", () => {
  test("starts with ten and never leaves its limits", () => {
    const { widths } = simulate({ seconds: 20, rateOf: (width) => width * MIB, rttMs: 20 });
    expect(widths[0]).toBe(10);
    expect(Math.max(...widths)).toBe(96);
  });

  test("reaches the most within two seconds on a lossy link, where every connection adds its own rate", () => {
    const { widths } = simulate({ seconds: 2, rateOf: (width) => width * 1.3 * MIB });
    expect(widths.at(-1)).toBe(96);
  });

  test("stops growing on a link that ten can fill, and gives back what does not help", () => {
    const { widths, last } = simulate({ seconds: 90, rateOf: (width) => Math.min(width, 10) * 2 * MIB, rttMs: 10 });
    expect(Math.max(...widths.slice(0, 60))).toBeLessThanOrEqual(40);
    expect(last).toBeLessThanOrEqual(16);
    expect(last).toBeGreaterThanOrEqual(8);
  });

  test("stays at a rate near the best one while it tries fewer and more", () => {
    const rateOf = (width: number) => Math.min(width, 30) * MIB;
    const { widths } = simulate({ seconds: 120, rateOf });
    const later = widths.slice(200).map(rateOf);
    const mean = later.reduce((sum, rate) => sum + rate, 0) / later.length;
    expect(mean / rateOf(96)).toBeGreaterThan(0.95);
  });

  test("takes one step as soon as it is known that the link is long", () => {
    const { widths } = simulate({ seconds: 1, rateOf: (width) => Math.min(width, 10) * MIB, rttMs: 120 });
    expect(widths[0]).toBe(40);
  });

  test("does not go beyond the ramp where a queue shows that the link is full", () => {
    const rateOf = (width: number) => Math.min(width, 40) * MIB;
    const { widths } = simulate({ seconds: 10, rateOf, rttMs: 120, presentRtt: () => 180 });
    expect(Math.max(...widths)).toBe(40);
  });

  test("is told of the queue between two looks at the rate, and believes it", () => {
    const rateOf = (width: number) => width * 0.1 * MIB;
    const { widths, asked } = simulate({ seconds: 6, rateOf, rttMs: 120, answerMs: 200 });
    expect(widths.at(-1)).toBe(96);
    expect(asked).toBe(1);
  });

  test("looks again where less arrives than did at first: many slow starts fill the queue of a lossy link too", () => {
    const rateOf = (width: number, at: number) => (at < 6_000 ? 10 : width * 0.1) * MIB;
    const presentRtt = (at: number) => (at < 6_000 ? 600 : 302);
    const { widths } = simulate({ seconds: 10, rateOf, rttMs: 300, presentRtt, answerMs: 350 });
    expect(widths[5_000 / 50]).toBe(40);
    expect(widths.at(-1)).toBe(96);
  });

  test("asks a few times and no more on a full link that became slower", () => {
    const rateOf = (_: number, at: number) => (at < 2_500 ? 10 : 3) * MIB;
    const { widths, asked } = simulate({ seconds: 60, rateOf, rttMs: 120, presentRtt: () => 400, answerMs: 150 });
    expect(Math.max(...widths.slice(0, 300))).toBe(40);
    expect(asked).toBeGreaterThan(1);
    expect(asked).toBeLessThanOrEqual(6);
  });

  test("a leap that brought nothing is soon followed by a trial of fewer", () => {
    const { widths } = simulate({ seconds: 14, rateOf: (width) => Math.min(width, 40) * 0.1 * MIB, rttMs: 120 });
    expect(Math.max(...widths)).toBe(96);
    expect(widths.at(-1)).toBeLessThanOrEqual(72);
  });

  test("what is told of the queue when nobody waits any more is told too late", () => {
    const { widths } = simulate({
      seconds: 8,
      rateOf: (width) => width * 0.1 * MIB,
      rttMs: 120,
      answerMs: 500,
      isHungry: (at) => at < 1_400,
    });
    expect(Math.max(...widths)).toBe(40);
  });

  test("a store that throttles while the queue is asked for is not asked without end", () => {
    const { asked } = simulate({
      seconds: 20,
      rateOf: (width) => width * 0.1 * MIB,
      rttMs: 120,
      answerMs: 1_500,
      throttledAt: [2_300],
    });
    expect(asked).toBe(0);
  });

  test("finds more when the link becomes one that wants more", () => {
    const { last } = simulate({
      seconds: 240,
      rateOf: (width, at) => (at < 60_000 ? Math.min(width, 10) : Math.min(width, 60)) * MIB,
    });
    expect(last).toBeGreaterThan(40);
  });

  test("does not grow while nothing is waiting for a connection", () => {
    const { last } = simulate({ seconds: 10, rateOf: (width) => width * MIB, isHungry: () => false });
    expect(last).toBe(10);
  });

  test("waits for the first byte before it judges", () => {
    const { widths } = simulate({
      seconds: 3,
      rateOf: (width, at) => (at < 2_000 ? 0 : Math.min(width, 10) * MIB),
      rttMs: 10,
    });
    expect(new Set(widths.slice(0, 30))).toEqual(new Set([10]));
  });
});

describe("a store that throttles", () => {
  test("halves it at once, once per second however many answers say so", () => {
    const ramped = simulate({ seconds: 5, rateOf: (width) => Math.min(width, 40) * MIB });
    const before = ramped.last;
    const sample = {
      bytes: ramped.state.windowBytes + MIB,
      isHungry: true,
      rttMs: 40,
      presentRttMs: null,
      isThrottled: true,
    };
    const once = stepSearch(ramped.state, { ...sample, at: 5_100 }, limits);
    expect(once.width).toBe(Math.floor(before / 2));
    expect(stepSearch(once, { ...sample, at: 5_200 }, limits).width).toBe(once.width);
    expect(stepSearch(once, { ...sample, at: 6_200 }, limits).width).toBe(Math.floor(once.width / 2));
  });

  test("gets them back one by one, below where it throttled", () => {
    const throttledAt = Array.from({ length: 5 }, (_, index) => 3_000 + index * 1_100);
    const { widths } = simulate({ seconds: 60, rateOf: (width) => width * MIB, throttledAt });
    const least = Math.min(...widths);
    expect(least).toBeLessThanOrEqual(4);
    const after = widths.slice(widths.lastIndexOf(least));
    expect(Math.max(...after)).toBeGreaterThan(least + 2);
    for (const [index, width] of after.entries()) {
      expect(width).toBeLessThanOrEqual(Math.max(2, Math.ceil((after[index - 1] ?? width) * 1.4)));
    }
  });

  test("is not asked one by one for long after it refused everything for a while", () => {
    // A minute in which every answer is a refusal: nothing moves, and each second says so again.
    const throttledAt = Array.from({ length: 60 }, (_, index) => 3_000 + index * 1_000);
    const rateOf = (width: number, at: number) => (at >= 3_000 && at <= 62_000 ? 0 : Math.min(width, 20) * MIB);
    const { widths } = simulate({ seconds: 72, rateOf, throttledAt });
    const widthAt = (ms: number) => widths[ms / 50 - 1];
    expect(widthAt(62_000)).toBe(1);
    expect(widthAt(65_100)).toBeGreaterThanOrEqual(4);
    expect(widthAt(70_100)).toBeGreaterThanOrEqual(8);
  });

  test("never leaves none", () => {
    const throttledAt = Array.from({ length: 30 }, (_, index) => index * 1_100);
    expect(simulate({ seconds: 35, rateOf: () => MIB, throttledAt }).last).toBeGreaterThanOrEqual(1);
  });
});
