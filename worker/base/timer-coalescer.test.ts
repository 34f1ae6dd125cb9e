import { afterEach, beforeEach, expect, test, vi } from "vitest";
import { createTimerCoalescer } from "./timer-coalescer.ts";

beforeEach(() => void vi.useFakeTimers({ toFake: ["setTimeout", "clearTimeout", "performance"] }));
afterEach(() => void vi.useRealTimers());

/** Whatever is told, and when. */
function diary() {
  const startedAt = performance.now();
  const told: [what: string, atMs: number][] = [];
  return {
    told,
    tell: (what: string) => () => void told.push([what, performance.now() - startedAt]),
    moments: () => new Set(told.map(([, at]) => at)).size,
    times: (what: string) => told.filter(([told]) => told === what).length,
  };
}

test("what was begun at different times is looked at in the same moments, each as often as it asks for", () => {
  const coalescer = createTimerCoalescer();
  const { tell, moments, times } = diary();
  coalescer.every(250, tell("often"));
  vi.advanceTimersByTime(33);
  coalescer.every(500, tell("seldom"));
  vi.advanceTimersByTime(41);
  coalescer.every(1_000, tell("rarely"));
  vi.advanceTimersByTime(10_000);
  expect(times("often")).toBe(40);
  expect(times("seldom")).toBe(20);
  expect(times("rarely")).toBe(10);
  expect(moments()).toBe(40);
});

test("what comes once comes at the beat that is nearest, and what cannot wait for one comes in its own time", () => {
  const coalescer = createTimerCoalescer();
  vi.advanceTimersByTime(10);
  const { tell, told } = diary();
  coalescer.after(40, tell("soon"));
  coalescer.after(230, tell("later"));
  vi.advanceTimersByTime(1_000);
  expect(told).toEqual([
    ["soon", 40],
    ["later", 240],
  ]);
});

test("what is not wanted any more does not come, not even in the moment in which it was due", () => {
  const coalescer = createTimerCoalescer();
  const { tell, told } = diary();
  const forget = coalescer.after(250, tell("forgotten"));
  forget();
  vi.advanceTimersByTime(500);
  let forgetOther = () => undefined as void;
  coalescer.after(250, () => forgetOther());
  forgetOther = coalescer.after(250, tell("forgotten by its neighbour"));
  const stop = coalescer.every(250, () => {
    tell("looked")();
    stop();
  });
  vi.advanceTimersByTime(1_000);
  expect(told.map(([what]) => what)).toEqual(["looked"]);
  expect(vi.getTimerCount()).toBe(0);
});

test("one that throws keeps none of the others from their turn", () => {
  const coalescer = createTimerCoalescer();
  const { tell, times } = diary();
  coalescer.after(250, () => {
    throw new Error("strange");
  });
  coalescer.every(250, tell("other"));
  expect(() => vi.advanceTimersByTime(250)).toThrow("strange");
  vi.advanceTimersByTime(750);
  expect(times("other")).toBe(4);
});
