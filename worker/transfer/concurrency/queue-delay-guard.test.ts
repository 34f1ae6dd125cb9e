import { expect, test } from "vitest";
import { type Load, startLoad, weigh } from "./queue-delay-guard.ts";

const MIB = 1024 * 1024;
const PART = 5 * MIB;

/** Parts of 5 MiB on a link that carries `rate`; looked at every 50 ms. */
function simulate(options: {
  seconds: number;
  width: number;
  rate: (at: number) => number;
  presentRttMs: number | ((width: number) => number);
  partBytes?: number | null;
}) {
  const { seconds, rate, partBytes = PART } = options;
  const tripAt = (width: number) =>
    typeof options.presentRttMs === "number" ? options.presentRttMs : options.presentRttMs(width);
  let load: Load = startLoad(0);
  let bytes = 0;
  let asked = 0;
  const most: number[] = [];
  for (let at = 50; at <= seconds * 1000; at += 50) {
    bytes += rate(at) * 0.05;
    const width = Math.min(options.width, load.most);
    if (load.asksRtt) asked++;
    load = weigh(load, {
      at,
      bytes,
      width,
      partBytes,
      rttMs: 120,
      presentRttMs: load.asksRtt ? tripAt(width) : null,
    });
    most.push(load.most);
  }
  return { last: load.most, most, asked };
}

test("a link that is fast enough is not even asked", () => {
  const { last, asked } = simulate({ seconds: 60, width: 58, rate: () => 11 * MIB, presentRttMs: 900 });
  expect(last).toBe(Infinity);
  expect(asked).toBe(0);
});

test("on a slow link as many parts are left as arrive within half a minute", () => {
  const { most } = simulate({ seconds: 10, width: 58, rate: () => 2.5 * MIB, presentRttMs: 400 });
  expect(most.at(-1)).toBe(15);
});

test("on the slowest a few are left", () => {
  expect(simulate({ seconds: 10, width: 58, rate: () => 0.25 * MIB, presentRttMs: 2_000 }).last).toBe(4);
});

test("where each connection is slow and no queue stands, fewer would only make it worse", () => {
  const { last, asked } = simulate({ seconds: 20, width: 58, rate: () => 2.5 * MIB, presentRttMs: 125 });
  expect(last).toBe(Infinity);
  expect(asked).toBeGreaterThan(1);
});

test("a link that cannot be asked, or carries nothing, is not called slow", () => {
  expect(simulate({ seconds: 20, width: 58, rate: () => 2.5 * MIB, presentRttMs: Infinity }).last).toBe(Infinity);
  const broken = simulate({
    seconds: 60,
    width: 58,
    rate: (at) => (at < 4_000 ? 20 * MIB : 0),
    presentRttMs: 500,
  });
  expect(broken.last).toBe(Infinity);
});

test("a link that becomes faster gets more again", () => {
  const { most, last } = simulate({
    seconds: 30,
    width: 58,
    rate: (at) => (at < 10_000 ? 1.01 * MIB : 8.01 * MIB),
    presentRttMs: 400,
  });
  expect(most[195]).toBe(6);
  expect(last).toBe(48);
});

test("where nothing is lost with a part, any number may move", () => {
  const { last } = simulate({ seconds: 20, width: 24, rate: () => 0.25 * MIB, presentRttMs: 2_000, partBytes: null });
  expect(last).toBe(Infinity);
});

test("an interruption leaves all parts where they are, although a round trip across it took seconds", () => {
  const { most } = simulate({
    seconds: 40,
    width: 58,
    rate: (at) => (at > 8_000 && at < 11_000 ? 0.05 * MIB : 18 * MIB),
    presentRttMs: 3_100,
  });
  expect(new Set(most)).toEqual(new Set([Infinity]));
});

test("of a few parts none is cut: to begin one of them again costs more than it brings", () => {
  expect(simulate({ seconds: 60, width: 6, rate: () => 0.25 * MIB, presentRttMs: 2_000 }).last).toBe(Infinity);
});

test("where the queue is gone with those that are left, more may move again, but none so many that some would be cut", () => {
  const lossy = simulate({
    seconds: 120,
    width: 58,
    rate: () => 0.2 * MIB,
    // They are cut at first, and then there is always room.
    presentRttMs: (width) => (width > 6 ? 2_000 : 125),
  });
  expect(lossy.most.filter((most) => most < Infinity).slice(0, 1)).toEqual([4]);
  expect(lossy.last).toBe(6);
  expect(Math.max(...lossy.most.filter((most) => most < Infinity))).toBe(6);
});

test("a link that stays full is asked for room less and less often", () => {
  const { last, asked } = simulate({ seconds: 1_200, width: 58, rate: () => 0.25 * MIB, presentRttMs: 2_000 });
  expect(last).toBe(4);
  expect(asked).toBeGreaterThan(10);
  expect(asked).toBeLessThan(40);
});
