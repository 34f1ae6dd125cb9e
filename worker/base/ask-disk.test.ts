import { expect, test } from "vitest";
import { askDisk, type DiskPace } from "./ask-disk.ts";

const numbers = (count: number) => Array.from({ length: count }, (_, index) => index);
const blocked = new Int32Array(new SharedArrayBuffer(4));
const block = (ms: number) => void Atomics.wait(blocked, 0, 0, ms);

function watched(pace: DiskPace, slowAt: number | null = null) {
  const seen: { now: number[]; later: number[] } = { now: [], later: [] };
  return {
    seen,
    call: {
      pace,
      now: (item: number) => {
        seen.now.push(item);
        if (item === slowAt) block(40);
        return item * 2;
      },
      later: async (item: number) => {
        seen.later.push(item);
        return item * 2;
      },
    },
  };
}

test("answers come in order, nearly all at once, one of each lot through another thread", async () => {
  // Long enough ago that no pause of this machine passes for a slow disk for more than a while.
  const { seen, call } = watched({ later: 0 });
  expect(await askDisk(numbers(200), call)).toEqual(numbers(200).map((item) => item * 2));
  expect([...seen.now, ...seen.later].sort((a, b) => a - b)).toEqual(numbers(200));
  expect(seen.later[0]).toBe(0);
});

test("after a lot that took its time the others go through threads for a while, also those of the next question", async () => {
  const pace = { later: 0 };
  const { seen, call } = watched(pace, 10);
  await askDisk(numbers(100), call);
  expect(seen.now).toEqual(numbers(64).slice(1));
  expect(seen.later).toEqual([0, ...numbers(100).slice(64)]);
  const next = watched(pace);
  await askDisk(numbers(50), next.call);
  expect(next.seen.now).toEqual([]);
  expect(pace.later).toBe(256 - 36 - 50);
});

test("an error of either way is the caller's", async () => {
  const fails = {
    pace: { later: 0 },
    now: (item: number) => {
      throw new Error(`now ${item}`);
    },
    later: async (item: number) => item,
  };
  await expect(askDisk([1, 2], fails)).rejects.toThrow("now 2");
  await expect(
    askDisk([1], { ...fails, later: (item: number) => Promise.reject(new Error(`later ${item}`)) }),
  ).rejects.toThrow("later 1");
});
