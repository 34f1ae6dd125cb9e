import { afterEach, describe, expect, it } from "vitest";
import { createLoopWatch } from "./loop-watch.ts";

let at = 0;
let worked = 0;
const lines: object[] = [];
const stalls = new Map<string, number>();
const watch = createLoopWatch({
  counters: { stalls },
  log: { warn: (line: object) => void lines.push(line) },
  now: () => at,
  worked: () => worked,
});
watch.stop();
afterEach(() => {
  lines.length = 0;
  stalls.clear();
});

describe("the watch over the event loop", () => {
  it("says nothing of a loop that turns", () => {
    watch.enter("runs.get")();
    at += 60;
    watch.look();
    expect([lines, [...stalls]]).toEqual([[], []]);
  });

  it("names the procedure that began last when the loop stood still, and all that were at work", () => {
    const leave = watch.enter("live.watch");
    watch.enter("node.commit")();
    at += 1_050;
    worked += 1_100;
    watch.look();
    const procedures = ["live.watch", "node.commit"];
    expect(lines).toEqual([{ lateMs: 1_000, busyMs: 1_000, last: "node.commit", procedures }]);
    expect([...stalls]).toEqual([["node.commit", 1]]);
    expect(watch.longestMs).toBe(1_000);
    leave();
  });

  it("tells a thread that worked from a machine that had no time for it", () => {
    at += 2_050;
    worked += 3;
    watch.look();
    expect(lines).toMatchObject([{ lateMs: 2_000, busyMs: 3 }]);
    expect([watch.longestMs, watch.longestBusyMs]).toEqual([2_000, 1_000]);
  });

  it("names none when nothing was asked", () => {
    at += 50;
    watch.look();
    at += 400;
    watch.look();
    expect([...stalls]).toEqual([["none", 1]]);
  });
});
