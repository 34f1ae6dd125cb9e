import { expect, test } from "vitest";
import { drawnPoints, withPresent, type TrailPoint } from "./live-trail.ts";

const point = (at: number): TrailPoint => ({
  at,
  upBytesPerSecond: at,
  downBytesPerSecond: 0,
  atRiskBytes: 0,
  rttMs: null,
  cpuPercent: null,
});
const times = (points: readonly TrailPoint[]) => points.map(({ at }) => at);

test("the present is kept every five seconds, and no more than some minutes of it", () => {
  let trail: readonly TrailPoint[] = [];
  for (let at = 1_000; at <= 31_000; at += 1_000) trail = withPresent(trail, point(at));
  expect(times(trail)).toEqual([1_000, 6_000, 11_000, 16_000, 21_000, 26_000, 31_000]);
  expect(withPresent(trail, point(32_000))).toBe(trail);
  for (let at = 40_000; at <= 4_000_000; at += 5_000) trail = withPresent(trail, point(at));
  expect(trail).toHaveLength(60);
  expect(trail.at(-1)?.at).toBe(4_000_000);
});

test("a minute that was written down replaces what was seen in it, and the present comes last", () => {
  const trail = [point(50_000), point(55_000), point(65_000)];
  expect(times(drawnPoints([point(0), point(60_000)], trail, point(67_000)))).toEqual([0, 60_000, 65_000, 67_000]);
  expect(times(drawnPoints([], trail, point(65_000)))).toEqual([50_000, 55_000, 65_000]);
  expect(times(drawnPoints([point(60_000)], trail, null))).toEqual([60_000, 65_000]);
});
