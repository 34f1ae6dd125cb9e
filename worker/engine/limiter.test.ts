import { expect, test } from "vitest";
import { createFakeClock } from "./fake-clock.ts";
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
  expect(passedAt["open"]?.length).toBe(3);
  // What was never begun has no connection to lose.
  expect(passedAt["fresh"]).toEqual([]);
});

test("lifting the limit lets those go that wait", async () => {
  const clock = createFakeClock();
  const limiter = createLimiter(clock, 1);
  const lane = limiter.lane();
  await lane.take(1_000_000, signal);
  const waiting = lane.take(1_000_000, signal);
  limiter.setRate(0);
  await clock.pass(1_000);
  await waiting;
  expect(clock.now()).toBe(1_000);
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
  await limiter.lane().take(1_000, stop.signal);
  const waiting = limiter.lane().take(1_000, stop.signal);
  await clock.pass(10);
  stop.abort();
  await expect(waiting).rejects.toMatchObject({ code: "CANCELLED" });
});
