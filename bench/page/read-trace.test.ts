import { expect, test } from "vitest";
import { readTrace } from "./read-trace.ts";

const event = (name: string, ts: number, more: { dur: number; tdur?: number; tid?: number }) => ({
  name,
  ph: "X",
  pid: 1,
  tid: 7,
  ts,
  ...more,
});
const frame = (ts: number) => event("WebFrameWidgetImpl::BeginMainFrame", ts, { dur: 1_000 });
const trace = (...traceEvents: object[]): string => JSON.stringify({ traceEvents });

test("the work of a frame is what was done since the one before, its own layout included, what is nested counted once", () => {
  const found = readTrace(
    trace(
      event("FunctionCall", 100, { dur: 5_000 }),
      event("Layout", 200, { dur: 2_000 }),
      frame(8_000),
      event("UpdateLayoutTree", 8_100, { dur: 800 }),
      event("TimerFire", 16_100, { dur: 3_000 }),
      frame(20_000),
      frame(36_000),
    ),
  );
  expect(found).toMatchObject({ frames: 2, p50: 5.8, p95: 5.8, longest: 5.8, longestTask: 5 });
});

test("the thread's own time counts, not that of others on the machine", () => {
  const found = readTrace(trace(event("FunctionCall", 10, { dur: 90_000, tdur: 4_000 }), frame(100_000)));
  expect(found.longest).toBe(4);
});

test("threads beside the page's own are left out", () => {
  const found = readTrace(
    trace(event("FunctionCall", 10, { dur: 9_000 }), event("FunctionCall", 20, { dur: 8_000, tid: 8 }), frame(20_000)),
  );
  expect(found).toMatchObject({ frames: 1, longest: 9 });
});
