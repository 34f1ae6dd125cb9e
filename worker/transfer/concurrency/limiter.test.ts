import { describe, expect, test } from "vitest";
import type { Clock } from "#worker/base/clock.ts";
import { createFakeClock } from "#worker/testing/fake-clock.ts";
import { createLimiter, type Lane } from "./limiter.ts";

const signal = new AbortController().signal;

test("over ten seconds exactly the rate passes, however many connections ask", async () => {
  const clock = createFakeClock();
  const limiter = createLimiter(clock, 1_000_000);
  let passed = 0;
  const connection = async () => {
    const lane = limiter.lane();
    for (;;) {
      await lane.take(50_000, signal);
      passed += 50_000;
    }
  };
  for (let index = 0; index < 4; index++) void connection();
  await clock.pass(10_000);
  expect(passed).toBeGreaterThanOrEqual(9_900_000);
  expect(passed).toBeLessThanOrEqual(10_150_000);
});

test("the lane that was opened first goes first, so parts complete one after another", async () => {
  const clock = createFakeClock();
  const limiter = createLimiter(clock, 1_000);
  const turns: string[] = [];
  const part = async (name: string) => {
    const lane = limiter.lane();
    for (let turn = 0; turn < 3; turn++) {
      await lane.take(500, signal);
      turns.push(name);
    }
  };
  const all = Promise.all([part("a"), part("b"), part("c")]);
  await clock.pass(10_000);
  await all;
  expect(turns.join("")).toBe("aaabbbccc");
});

test("a connection in mid-request is never silent for long, however much goes before it", async () => {
  const clock = createFakeClock();
  const limiter = createLimiter(clock, 1_000);
  const [first, open, fresh] = [limiter.lane(), limiter.lane({ isOpen: true }), limiter.lane()];
  const passedAt: Record<string, number[]> = { open: [], fresh: [] };
  const keep = async (lane: Lane, name: string) => {
    for (;;) {
      await lane.take(100, signal);
      passedAt[name]?.push(clock.now());
    }
  };
  void keep(first, "first");
  void keep(open, "open");
  void keep(fresh, "fresh");
  await clock.pass(16_000);
  expect(passedAt["open"]?.length).toBe(5);
  // What was never begun has no connection to lose.
  expect(passedAt["fresh"]).toEqual([]);
});

test("lifting the limit lets those go that wait", async () => {
  const clock = createFakeClock();
  const limiter = createLimiter(clock, 1);
  const lane = limiter.lane();
  const waiting = lane.take(1_000_000, signal);
  await clock.pass(10);
  limiter.setRate(0);
  await waiting;
  expect(clock.now()).toBe(10);
});

test("a rate of 0 is no limit", async () => {
  const clock = createFakeClock();
  const limiter = createLimiter(clock, 0);
  await limiter.lane().take(1e12, signal);
  expect(clock.now()).toBe(0);
});

test("waiting ends when the transfer is stopped", async () => {
  const clock = createFakeClock();
  const limiter = createLimiter(clock, 10);
  const stop = new AbortController();
  const waiting = limiter.lane().take(1_000, stop.signal);
  await clock.pass(10);
  stop.abort();
  await expect(waiting).rejects.toMatchObject({ code: "CANCELLED" });
});

/** As senders and receivers take: piece by piece, waiting only when they must. */
async function move(lane: Lane, chunkBytes: number, onPassed: (bytes: number) => void): Promise<never> {
  for (;;) {
    for (let left = chunkBytes; left > 0;) {
      const piece = lane.tryTake(left) || (await lane.takeSome(left, signal));
      left -= piece;
      onPassed(piece);
    }
  }
}

const BIN_MS = 100;
const STRETCH_BINS = 30;

/** Bytes per second over every stretch of three seconds, from the first to the last. */
const stretches = (bins: readonly number[]): number[] =>
  bins.slice(0, -STRETCH_BINS).map((_, at) => {
    const bytes = bins.slice(at, at + STRETCH_BINS).reduce((sum, one) => sum + one, 0);
    return (bytes * 1000) / (STRETCH_BINS * BIN_MS);
  });

/** What passes in each tenth of a second while `lanes` lanes take all they get. */
async function watchLanes(about: { rate: number; lanes: number; chunkBytes: number; lateMs?: () => number }) {
  const fake = createFakeClock();
  const { lateMs } = about;
  const clock: Clock = lateMs === undefined ? fake : { ...fake, sleep: (ms, stop) => fake.sleep(ms + lateMs(), stop) };
  const limiter = createLimiter(clock, about.rate);
  const bins: number[] = [];
  const lastAt = Array.from({ length: about.lanes }, () => 0);
  let longestSilenceMs = 0;
  let totalBytes = 0;
  for (let index = 0; index < about.lanes; index++) {
    void move(limiter.lane({ isOpen: true }), about.chunkBytes, (bytes) => {
      const bin = Math.floor(fake.now() / BIN_MS);
      bins[bin] = (bins[bin] ?? 0) + bytes;
      totalBytes += bytes;
      longestSilenceMs = Math.max(longestSilenceMs, fake.now() - (lastAt[index] ?? 0));
      lastAt[index] = fake.now();
    });
  }
  return {
    limiter,
    clock: fake,
    bins: (from: number, to: number) => Array.from({ length: to - from }, (_, at) => bins[from + at] ?? 0),
    totalBytes: () => totalBytes,
    silenceMs: () => Math.max(longestSilenceMs, ...lastAt.map((at) => fake.now() - at)),
  };
}

describe("every stretch of three seconds is exact within 5 %, and no lane in use is silent for 5 s", () => {
  const rates = [64_000, 300_000, 5_000_000, 40_000_000, 1_000_000_000];
  const crowds = [1, 8, 96];
  const chunks = [4 * 1024, 64 * 1024, 1024 * 1024];
  const cases = rates.flatMap((rate) =>
    crowds.flatMap((lanes) => chunks.map((chunkBytes) => ({ rate, lanes, chunkBytes }))),
  );
  test.each(cases)("$rate B/s over $lanes lanes in chunks of $chunkBytes", async (about) => {
    const seconds = about.rate > 100_000_000 ? 4 : 8;
    const watched = await watchLanes(about);
    await watched.clock.pass(seconds * 1000);
    const seen = stretches(watched.bins(0, seconds * 10));
    expect(Math.min(...seen)).toBeGreaterThan(about.rate * 0.95);
    expect(Math.max(...seen)).toBeLessThan(about.rate * 1.05);
    expect(watched.silenceMs()).toBeLessThan(5_000);
  });
});

test("timers that come late cost nothing: what they kept back is caught up", async () => {
  let seed = 7;
  const lateMs = () => {
    seed = (seed * 1_103_515_245 + 12_345) % 2_147_483_648;
    return (seed / 2_147_483_648) * 60;
  };
  const watched = await watchLanes({ rate: 2_000_000, lanes: 8, chunkBytes: 65_536, lateMs });
  await watched.clock.pass(12_000);
  const seen = stretches(watched.bins(0, 120));
  expect(Math.min(...seen)).toBeGreaterThan(1_900_000);
  expect(Math.max(...seen)).toBeLessThan(2_100_000);
});

test("another rate holds at once, up and down, also for those that wait", async () => {
  const watched = await watchLanes({ rate: 1_000, lanes: 4, chunkBytes: 1024 * 1024 });
  const { clock, limiter } = watched;
  await clock.pass(300);
  for (const rate of [800_000_000, 64_000, 2_000_000, 500_000]) {
    limiter.setRate(rate);
    expect(limiter.bytesPerSecond).toBe(rate);
    const before = watched.totalBytes();
    await clock.pass(3_000);
    const bytes = watched.totalBytes() - before;
    expect(bytes / 3).toBeGreaterThan(rate * 0.95);
    expect(bytes / 3).toBeLessThan(rate * 1.05);
  }
});

test("a waiter that sleeps for the old rate wakes with the new one", async () => {
  const clock = createFakeClock();
  const limiter = createLimiter(clock, 1_000);
  const lane = limiter.lane();
  const waiting = lane.take(900_000, signal);
  await clock.pass(10);
  limiter.setRate(90_000_000);
  await clock.pass(20);
  await waiting;
  expect(clock.now()).toBe(30);
});

test("who takes all waits until all of it is paid", async () => {
  const clock = createFakeClock();
  const lane = createLimiter(clock, 1_000_000).lane();
  const doneAt: number[] = [];
  for (let round = 0; round < 3; round++) void lane.take(500_000, signal).then(() => doneAt.push(clock.now()));
  await clock.pass(2_000);
  expect(doneAt.map((at) => Math.round(at / 100) * 100)).toEqual([500, 1_000, 1_500]);
});

test("without a limit nothing is cut and nothing waits; with one, a piece is refused while others wait", async () => {
  const clock = createFakeClock();
  const limiter = createLimiter(clock, 0);
  const [first, second] = [limiter.lane(), limiter.lane()];
  expect(first.tryTake(1e12)).toBe(1e12);
  limiter.setRate(1_000_000);
  expect(first.tryTake(1e12)).toBe(20_000);
  expect(first.tryTake(1)).toBe(0);
  const waiting = second.takeSome(1_000, signal);
  expect(first.tryTake(1)).toBe(0);
  await clock.pass(25);
  expect(await waiting).toBe(1_000);
});

test("tells whether it is what bounds the rate", async () => {
  const clock = createFakeClock();
  const limiter = createLimiter(clock, 0);
  const lane = limiter.lane();
  lane.tryTake(1_000_000);
  expect(limiter.isHolding).toBe(false);
  limiter.setRate(100_000);
  expect(limiter.isHolding).toBe(false);
  const passed = lane.take(30_000, signal);
  expect(limiter.isHolding).toBe(true);
  await clock.pass(1_000);
  await passed;
  expect(limiter.isHolding).toBe(false);
});
