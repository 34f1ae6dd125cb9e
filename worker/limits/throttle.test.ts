import { mkdtemp, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterEach, beforeEach, expect, test, vi } from "vitest";
import { createFakeClock } from "../testing/fake-clock.ts";
import { createLimiter } from "../transfer/concurrency/limiter.ts";
import { NO_LIMIT, parseTimetable, wallClockOf } from "../command-line/schedule.ts";
import { NOTHING_SET, readSetLimits, writeSetLimits } from "./set-limits.ts";
import { openThrottle, type Throttle, type ThrottleOptions } from "./throttle.ts";

let state: string;
let throttle: Throttle | null = null;
beforeEach(async () => {
  state = await mkdtemp(join(tmpdir(), "tidemark-throttle-"));
});
afterEach(async () => {
  throttle?.close();
  throttle = null;
  await rm(state, { recursive: true, force: true });
});

const START = Date.parse("2026-03-01T07:59:50Z");

async function start(about: {
  up?: string;
  down?: string;
  share?: number;
  sharers?: number;
  rttMs?: (rate: number) => number;
}) {
  const clock = createFakeClock();
  const changes: string[] = [];
  const limiter = createLimiter(clock, 0);
  const meter = { totalBytes: 0 };
  const probed: string[] = [];
  const options: ThrottleOptions = {
    limits: {
      up: about.up === undefined ? NO_LIMIT : parseTimetable(about.up),
      down: about.down === undefined ? NO_LIMIT : parseTimetable(about.down),
      wallClock: wallClockOf("UTC"),
      shareForOthers: about.share ?? null,
    },
    state,
    ...(about.sharers !== undefined && { sharers: about.sharers }),
    clock,
    wallNow: () => START + clock.now(),
    onChange: (direction, rate) => changes.push(`${direction} ${rate}`),
    probe: (endpoint) => {
      probed.push(endpoint);
      return Promise.resolve(about.rttMs?.(limiter.bytesPerSecond) ?? null);
    },
  };
  throttle = await openThrottle(options);
  const release = throttle.govern({ direction: "up", limiter, meter, endpoint: () => "https://s3.example.com" });
  return { clock, changes, limiter, meter, probed, throttle, release };
}

test("the limit holds from the first moment, and another one when its time comes", async () => {
  const { limiter, clock, changes } = await start({ up: "08:00-18:00=2MB,5MB" });
  expect(limiter.bytesPerSecond).toBe(5_000_000);
  await clock.pass(9_999);
  expect(limiter.bytesPerSecond).toBe(5_000_000);
  await clock.pass(2);
  expect(limiter.bytesPerSecond).toBe(2_000_000);
  expect(changes).toEqual(["up 2000000"]);
});

test("what is set in the state folder is followed while it runs, and taken back by taking it away", async () => {
  const { limiter, clock, throttle, changes } = await start({ up: "5MB", down: "7MB" });
  const settle = (rate: number) =>
    vi.waitFor(async () => {
      await clock.pass(1_000);
      expect(limiter.bytesPerSecond).toBe(rate);
    });
  await writeSetLimits(state, { up: "1MB", down: null });
  await settle(1_000_000);
  expect(throttle.limits()).toEqual({ up: 1_000_000, down: 7_000_000 });
  await writeSetLimits(state, { up: "00:00-24:00=3MB", down: "off" });
  await settle(3_000_000);
  expect(throttle.limits()).toEqual({ up: 3_000_000, down: 0 });
  await writeSetLimits(state, NOTHING_SET);
  await settle(5_000_000);
  expect(changes).toEqual(["up 1000000", "up 3000000", "down 0", "up 5000000", "down 7000000"]);
});

test("what was set before holds after a restart; a file nobody understands sets nothing", async () => {
  await writeSetLimits(state, { up: "1MB", down: null });
  const again = await start({ up: "5MB" });
  expect(again.limiter.bytesPerSecond).toBe(1_000_000);
  expect(again.changes).toEqual(["up 1000000"]);
  throttle?.close();
  for (const text of ["{", '{"up":"quick","down":null}']) {
    await writeFile(join(state, "limits.json"), text);
    expect(await readSetLimits(state)).toEqual(NOTHING_SET);
    expect((await start({ up: "5MB" })).limiter.bytesPerSecond).toBe(5_000_000);
    throttle?.close();
  }
});

test("a caller sets limits at once, for a waiter too", async () => {
  const { limiter, clock, throttle } = await start({ up: "1kB" });
  const waiting = limiter.lane().take(100_000, new AbortController().signal);
  await clock.pass(100);
  throttle.setLimits({ up: parseTimetable("100MB") });
  await clock.pass(10);
  await waiting;
  throttle.setLimits({ up: null });
  await clock.pass(1);
  expect(limiter.bytesPerSecond).toBe(1_000);
});

test("after the end and after release nothing is governed any more", async () => {
  const { limiter, clock, throttle, release } = await start({ up: "5MB" });
  release();
  throttle.setLimits({ up: parseTimetable("1MB") });
  await clock.pass(60_000);
  expect(limiter.bytesPerSecond).toBe(5_000_000);
});

test("household mode finds a rate at which handshakes are quick, and asks only while bytes move", async () => {
  const link = 2_000_000;
  // As long as we may take more than the link carries, its queue is full.
  let isMoving = false;
  const rttMs = (rate: number) => (rate === 0 || rate > link ? 220 : 20);
  const { limiter, clock, meter, probed } = await start({
    share: 0,
    up: "10MB",
    rttMs: (rate) => (isMoving ? rttMs(rate) : 20),
  });
  expect(limiter.bytesPerSecond).toBe(64_000);
  await clock.pass(10_000);
  expect(new Set(probed)).toEqual(new Set(["https://s3.example.com"]));
  expect(limiter.bytesPerSecond).toBe(10_000_000);
  isMoving = true;
  for (let second = 0; second < 60; second++) {
    meter.totalBytes += Math.min(link, limiter.bytesPerSecond);
    await clock.pass(1_000);
  }
  expect(limiter.bytesPerSecond).toBeGreaterThan(0.7 * link);
  expect(limiter.bytesPerSecond).toBeLessThan(1.05 * link);
  expect(probed.length).toBeGreaterThan(50);
  const asked = probed.length;
  await clock.pass(60_000);
  expect(probed.length).toBeLessThanOrEqual(asked + 1);
});

test("the limit holds also when the household could spare more", async () => {
  const { limiter, clock, meter } = await start({ share: 0, up: "1MB", rttMs: () => 20 });
  for (let second = 0; second < 20; second++) {
    meter.totalBytes += 1_000_000;
    await clock.pass(1_000);
  }
  expect(limiter.bytesPerSecond).toBe(1_000_000);
});

test("workers that share a machine keep to their part of its limit, and of one that is set meanwhile", async () => {
  const { limiter, clock, throttle: shared } = await start({ up: "9MB", sharers: 3 });
  expect(limiter.bytesPerSecond).toBe(3_000_000);
  expect(shared.limits()).toEqual({ up: 3_000_000, down: 0 });
  await writeSetLimits(state, { up: "6MB", down: null });
  // Reading the file takes real time.
  await vi.waitFor(async () => {
    await clock.pass(1_000);
    expect(limiter.bytesPerSecond).toBe(2_000_000);
  });
});
