import { afterEach, beforeEach, expect, test, vi } from "vitest";
import { atOnce, diskSense } from "./at-once.ts";

beforeEach(async () => {
  vi.useFakeTimers({ toFake: ["performance"] });
  // What other tests of this process left.
  while (!diskSense.isQuick()) await atOnce(taking(0), later);
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
