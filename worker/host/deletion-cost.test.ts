import { mkdir, mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { expect, test } from "vitest";
import { Fault } from "#protocol/faults/fault.ts";
import { createFakeClock } from "../testing/fake-clock.ts";
import { keepDeletionCost, unsafeOfMachine } from "./deletion-cost.ts";

const MIB = 1024 * 1024;

function start() {
  const clock = createFakeClock();
  const stop = new AbortController();
  const costs: number[] = [];
  const faults: string[] = [];
  const now = { unsafeMib: 0, isFailing: false };
  const over = keepDeletionCost({
    imds: {
      setDeletionCost: async (cost) => {
        if (now.isFailing) throw new Fault("PLATFORM_FAILED");
        costs.push(cost);
      },
    },
    unsafeBytes: async () => now.unsafeMib * MIB,
    clock,
    signal: stop.signal,
    onFault: ({ code }) => faults.push(code),
  });
  const look = async (unsafeMib: number) => {
    now.unsafeMib = unsafeMib;
    await clock.pass(15_000);
  };
  return { clock, stop, costs, faults, now, over, look };
}

test("it is what would be lost, told at the start and when it changed notably", async () => {
  const { clock, costs, look } = start();
  await clock.pass(0);
  for (const mib of [0, 0.5, 300, 310, 340, 325, 100, 0, 0]) await look(mib);
  expect(costs).toEqual([0, 1, 300, 340, 100, 0]);
});

test("it is not told more often than every fifteen seconds", async () => {
  const { clock, costs, now } = start();
  await clock.pass(0);
  for (let second = 0; second < 29; second++) {
    now.unsafeMib += 100;
    await clock.pass(1_000);
  }
  expect(costs).toHaveLength(2);
});

test("a platform that refuses is said once, tried again, and ends nothing", async () => {
  const { clock, costs, faults, now, look, stop, over } = start();
  now.isFailing = true;
  await clock.pass(0);
  for (const mib of [10, 50, 90]) await look(mib);
  expect([costs, faults]).toEqual([[], ["PLATFORM_FAILED"]]);
  now.isFailing = false;
  await look(90);
  expect(costs).toEqual([90]);
  stop.abort();
  await over;
});

test("the cost of a machine counts the unsafe bytes of all its workers, also of one that was killed", async () => {
  const state = await mkdtemp(join(tmpdir(), "tidemark-cost-"));
  try {
    const folders = ["slot-1", "slot-2", "slot-3"].map((name) => join(state, name));
    for (const folder of folders) await mkdir(folder);
    const [one = "", other = ""] = folders;
    expect(await unsafeOfMachine(folders, { state: one, bytes: 7 })).toBe(7);
    expect(await unsafeOfMachine(folders, { state: other, bytes: 0 })).toBe(7);
    expect(await unsafeOfMachine(folders, { state: other, bytes: 5 })).toBe(12);
  } finally {
    await rm(state, { recursive: true, force: true });
  }
});
