import { expect, test } from "vitest";
import { createFakeClock } from "./fake-clock.ts";
import { createLimiter } from "./limiter.ts";

const signal = new AbortController().signal;

test("over ten seconds exactly the rate passes, however many connections ask", async () => {
  const clock = createFakeClock();
  const limiter = createLimiter(clock, 1_000_000);
  let passed = 0;
  const connection = async () => {
    for (;;) {
      await limiter.take(50_000, signal);
      passed += 50_000;
    }
  };
  for (let index = 0; index < 4; index++) void connection();
  await clock.pass(10_000);
  expect(passed).toBeGreaterThanOrEqual(9_900_000);
  expect(passed).toBeLessThanOrEqual(10_150_000);
});

test("nobody starves: connections take turns", async () => {
  const clock = createFakeClock();
  const limiter = createLimiter(clock, 1_000);
  const turns: string[] = [];
  const connection = async (name: string) => {
    for (let turn = 0; turn < 3; turn++) {
      await limiter.take(500, signal);
      turns.push(name);
    }
  };
  const all = Promise.all([connection("a"), connection("b")]);
  await clock.pass(10_000);
  await all;
  expect(turns.join("")).toBe("ababab");
});

test("a rate of 0 is no limit", async () => {
  const clock = createFakeClock();
  const limiter = createLimiter(clock, 0);
  await limiter.take(1e12, signal);
  expect(clock.now()).toBe(0);
});

test("waiting ends when the transfer is stopped", async () => {
  const clock = createFakeClock();
  const limiter = createLimiter(clock, 10);
  const stop = new AbortController();
  await limiter.take(1_000, stop.signal);
  const waiting = limiter.take(1_000, stop.signal);
  await clock.pass(10);
  stop.abort();
  await expect(waiting).rejects.toMatchObject({ code: "CANCELLED" });
});
