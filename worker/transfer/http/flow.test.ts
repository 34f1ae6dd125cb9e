import { afterEach, beforeEach, expect, test, vi } from "vitest";
import { Flow } from "./flow.ts";
import { createPacer, type Pace } from "./socket/pace.ts";
import { createRttEstimator } from "./socket/rtt-estimator.ts";

beforeEach(() => {
  vi.useFakeTimers({ toFake: ["setTimeout", "clearTimeout", "setImmediate", "performance"] });
});
afterEach(() => {
  vi.useRealTimers();
});

const PACE: Pace = { tickMs: 4, aimBytes: 32 * 1024, mostMs: 40, growBytes: 64 * 1024 };

/** A body of which much is still to come, on a link of 120 ms. */
function createTrial(broughtBytes: number, readNow: (() => void) | null = null) {
  const now = () => performance.now();
  const calls: string[] = [];
  const socket = { pause: () => calls.push("pause"), resume: () => calls.push("resume") };
  const receiving = {
    hasBegun: true,
    isFlowing: true,
    isHeld: false,
    leftBytes: 10 * 1024 * 1024,
    waitingSince: 0,
    deliver: () => undefined,
  };
  const rttEstimator = createRttEstimator(now);
  rttEstimator.add(120);
  const onFault = (error: unknown) => {
    throw error;
  };
  const pacer = createPacer(now);
  const direct = readNow === null ? null : { hasInput: () => true };
  const read = readNow ?? (() => undefined);
  const flow = new Flow({
    socket,
    direct,
    read,
    receiving,
    pacer,
    pace: PACE,
    rttEstimator,
    now,
    broughtBytes,
    onFault,
  });
  const come = async (bytes: number) => {
    flow.came(bytes);
    await vi.advanceTimersByTimeAsync(1);
  };
  return { flow, come, calls, receiving, rttEstimator };
}

test("a connection that brings little rests, and is read from again when its time has come", async () => {
  const { come, calls } = createTrial(PACE.growBytes);
  await come(5_000);
  expect(calls).toEqual(["pause"]);
  await vi.advanceTimersByTimeAsync(PACE.mostMs + 1);
  expect(calls).toEqual(["pause", "resume"]);
});

test("one that brings much is never held back", async () => {
  const { come, calls } = createTrial(PACE.growBytes);
  await come(PACE.aimBytes);
  expect(calls).toEqual([]);
});

test("a young one is read from at once, until it has brought enough for its window to grow", async () => {
  const { flow, come, calls } = createTrial(0);
  for (let brought = 5_000; brought < PACE.growBytes; brought += 5_000) await come(5_000);
  expect(calls).toEqual([]);
  await come(5_000);
  expect(calls).toEqual(["pause"]);
  expect(flow.broughtBytes).toBeGreaterThanOrEqual(PACE.growBytes);
});

/** As `createTrial`, read from directly: each visit finds what lies in `ready`. */
function createTicking(broughtBytes: number, rttMs: number) {
  const ready: number[] = [];
  let reads = 0;
  const trial = createTrial(broughtBytes, () => {
    reads++;
    const bytes = ready.shift();
    if (bytes !== undefined) trial.flow.came(bytes);
  });
  trial.rttEstimator.add(rttMs);
  return { ...trial, ready, readsOf: () => reads };
}

test("where it can be read directly its socket stays paused, and each tick reads, also when there was nothing", async () => {
  const { come, calls, ready, readsOf } = createTicking(PACE.growBytes, 120);
  await come(5_000);
  for (let tick = 0; tick < 5; tick++) ready.push(5_000, 0);
  await vi.advanceTimersByTimeAsync(20 * PACE.mostMs);
  expect(readsOf()).toBeGreaterThan(10);
  expect(calls).toEqual(["pause"]);
});

test("when a tick brings far too much the next is a short one, and when that does too the socket reads by itself again", async () => {
  const { come, calls, ready, readsOf } = createTicking(PACE.growBytes, 120);
  await come(5_000);
  ready.push(5 * PACE.aimBytes);
  // Rests end with those of all others, so the first may be a short one.
  while (readsOf() === 0) await vi.advanceTimersByTimeAsync(1);
  ready.push(5_000);
  await vi.advanceTimersByTimeAsync(PACE.tickMs + 1);
  expect([calls, readsOf()]).toEqual([["pause"], 2]);
  ready.push(5 * PACE.aimBytes, 5 * PACE.aimBytes);
  await vi.advanceTimersByTimeAsync(2 * PACE.mostMs);
  expect([calls.slice(0, 2), readsOf()]).toEqual([["pause", "resume"], 4]);
});

test("while the sink is busy it is not read, and the socket goes on when the sink can take more", async () => {
  const { flow, come, calls, receiving, readsOf } = createTicking(PACE.growBytes, 120);
  await come(5_000);
  receiving.isHeld = true;
  receiving.isFlowing = false;
  await vi.advanceTimersByTimeAsync(5 * PACE.mostMs);
  expect(readsOf()).toBe(0);
  receiving.isHeld = false;
  receiving.isFlowing = true;
  flow.wake();
  expect(calls).toEqual(["pause", "resume"]);
});

test("far away a young one is read at short ticks; near by it is read at once", async () => {
  const far = createTicking(0, 120);
  await far.come(5_000);
  expect(far.calls).toEqual(["pause"]);
  const near = createTicking(0, 20);
  await near.come(5_000);
  expect(near.calls).toEqual([]);
});

test("the answer to a request that is gone is looked for at ticks where the store is far, and at once where it is near", async () => {
  const far = createTicking(0, 120);
  far.receiving.hasBegun = false;
  far.flow.expect();
  expect(far.calls).toEqual(["pause"]);
  await vi.advanceTimersByTimeAsync(3 * PACE.mostMs);
  expect(far.readsOf()).toBeGreaterThan(3);
  // The answer is a small one for nobody's sink: what is still to come of it the socket reads by itself.
  far.receiving.isFlowing = false;
  far.ready.push(500);
  await vi.advanceTimersByTimeAsync(PACE.mostMs);
  expect(far.calls).toEqual(["pause", "resume"]);
  const near = createTicking(0, 20);
  near.receiving.hasBegun = false;
  near.flow.expect();
  expect(near.calls).toEqual([]);
});

test("an answer that takes far longer than a round trip is left to the socket", async () => {
  const { flow, calls, receiving, readsOf } = createTicking(0, 120);
  receiving.hasBegun = false;
  flow.expect();
  await vi.advanceTimersByTimeAsync(8 * 120 + 2 * PACE.mostMs);
  expect(calls).toEqual(["pause", "resume"]);
  const reads = readsOf();
  await vi.advanceTimersByTimeAsync(1_000);
  expect(readsOf()).toBe(reads);
});

test("where answers have stood in line they are looked for at longer ticks", async () => {
  const { flow, receiving, rttEstimator, readsOf } = createTicking(0, 120);
  receiving.hasBegun = false;
  rttEstimator.answered(120 + 120);
  flow.expect();
  await vi.advanceTimersByTimeAsync(320);
  expect(readsOf()).toBe(10);
});

test("an answer that came before the request was gone is not waited for", async () => {
  const { flow, calls } = createTicking(0, 120);
  flow.expect();
  expect(calls).toEqual([]);
});
