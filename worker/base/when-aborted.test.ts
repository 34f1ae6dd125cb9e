import { expect, test } from "vitest";
import { whenAborted } from "./when-aborted.ts";

test("all who wait for a signal are told once, but those who wait no more", () => {
  const stop = new AbortController();
  const told: string[] = [];
  const forget = whenAborted(stop.signal, () => void told.push("forgotten"));
  whenAborted(stop.signal, () => {
    told.push("first");
    forgetLast();
  });
  whenAborted(stop.signal, () => void told.push("second"));
  const forgetLast = whenAborted(stop.signal, () => void told.push("last"));
  forget();
  stop.abort();
  stop.abort();
  expect(told).toEqual(["first", "second"]);
});

test("signals are told apart", () => {
  const [one, other] = [new AbortController(), new AbortController()];
  const told: string[] = [];
  whenAborted(one.signal, () => void told.push("one"));
  whenAborted(other.signal, () => void told.push("other"));
  other.abort();
  expect(told).toEqual(["other"]);
});
