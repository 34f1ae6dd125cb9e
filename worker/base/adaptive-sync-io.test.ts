import { afterEach, beforeEach, expect, test, vi } from "vitest";
import { atOnce, createSyncing, diskSense, isTurnOver, nextTurn } from "./adaptive-sync-io.ts";

beforeEach(async () => {
  vi.useFakeTimers({ toFake: ["performance"] });
  // What other tests of this process left.
  while (!diskSense.isQuick()) await atOnce(taking(0), later);
  // Every 256th call in a row goes to a thread: the next of these is far.
  while (atOnce(taking(0), later) === "now");
});
afterEach(() => void vi.useRealTimers());

const later = () => Promise.resolve("later");
const taking = (ms: number) => () => {
  vi.advanceTimersByTime(ms);
  return "now";
};

test("calls are made at once, handed over for a while after one that was slow, and then at once again", async () => {
  expect(atOnce(taking(1), later)).toBe("now");
  expect(atOnce(taking(4), later)).toBe("now");
  const handedOver = Array.from({ length: 64 }, async () => atOnce(taking(0), later));
  expect(new Set(await Promise.all(handedOver))).toEqual(new Set(["later"]));
  expect(atOnce(taking(1), later)).toBe("now");
});

test("of many calls in a row one is handed over, so that others have their turn", async () => {
  const calls = await Promise.all(Array.from({ length: 512 }, async () => atOnce(taking(0), later)));
  expect(calls.filter((how) => how === "later")).toHaveLength(2);
});

test("what fails is thrown", () => {
  expect(() =>
    atOnce<string>(() => {
      throw new Error("no such file");
    }, later),
  ).toThrow("no such file");
});

test("syncs are made at once while they take no time, and of those that take some fewer and fewer", async () => {
  let ms = 0;
  const made = { now: 0, later: 0 };
  const syncing = createSyncing({
    now: () => {
      made.now++;
      vi.advanceTimersByTime(ms);
    },
    later: async () => void made.later++,
  });
  const sync = async (count: number) => {
    for (let left = count; left > 0; left--) await syncing.sync(0);
    return { ...made };
  };
  expect(await sync(1000)).toEqual({ now: 1000, later: 0 });
  ms = 1;
  expect(await sync(65)).toEqual({ now: 1001, later: 64 });
  expect(syncing.isQuick()).toBe(true);
  expect(await sync(513)).toEqual({ now: 1002, later: 576 });
  ms = 0;
  expect(await sync(10)).toEqual({ now: 1012, later: 576 });
  ms = 1;
  expect(await sync(65)).toEqual({ now: 1013, later: 640 });
});

test("what takes turns lets others have theirs after a while, and not before", async () => {
  const order: string[] = [];
  let others = 0;
  setImmediate(() => order.push(`other after ${others}`));
  const work = async () => {
    while (isTurnOver()) await nextTurn();
    others++;
    vi.advanceTimersByTime(6);
  };
  await Promise.all(Array.from({ length: 10 }, work));
  expect(others).toBe(10);
  expect(order).toEqual(["other after 4"]);
});
