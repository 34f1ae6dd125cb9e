import { afterEach, beforeEach, expect, test, vi } from "vitest";
import { Flow } from "./flow.ts";
import { createPacer, type Pace } from "./pace.ts";
import { createTrips } from "./trips.ts";

beforeEach(() => {
  vi.useFakeTimers({ toFake: ["setTimeout", "clearTimeout", "setImmediate", "performance"] });
});
afterEach(() => {
  vi.useRealTimers();
});

const PACE: Pace = { tickMs: 4, aimBytes: 32 * 1024, mostMs: 40, growBytes: 64 * 1024 };

/** A body of which much is still to come, on a link of 120 ms. */
function createTrial(broughtBytes: number) {
  const now = () => performance.now();
  const calls: string[] = [];
  const socket = { pause: () => calls.push("pause"), resume: () => calls.push("resume") };
  const receiving = {
    isFlowing: true,
    isHeld: false,
    leftBytes: 10 * 1024 * 1024,
    waitingSince: 0,
    deliver: () => undefined,
  };
  const trips = createTrips(now);
  trips.add(120);
  const onFault = (error: unknown) => {
    throw error;
  };
  const pacer = createPacer(now);
  const flow = new Flow({ socket, receiving, pacer, pace: PACE, trips, now, broughtBytes, onFault });
  const come = async (bytes: number) => {
    flow.came(bytes);
    await vi.advanceTimersByTimeAsync(1);
  };
  return { flow, come, calls };
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
