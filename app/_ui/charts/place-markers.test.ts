import { expect, test } from "vitest";
import { placeMarkers, type ChartMarker } from "./place-markers.ts";

const layout = (width = 600) => ({ x: (at: number) => at, plot: { left: 0, width, floor: 100 } });
const marker = (at: number, label = "gpu-1 went silent"): ChartMarker => ({ at, label, tone: "lost" });
const placed = (markers: readonly ChartMarker[], width?: number) =>
  placeMarkers(markers, layout(width)).map(({ x, words }) => [x, words?.x ?? null, words?.align ?? null]);

test("words stand to the right of their line, at the right end to its left", () => {
  expect(placed([marker(100), marker(590)])).toEqual([
    [590, 584, "end"],
    [100, 106, "start"],
  ]);
});

test("words that would lie on another line or on newer words are left out, their lines stay", () => {
  expect(placed([marker(100), marker(150)])).toEqual([
    [150, 156, "start"],
    [100, null, null],
  ]);
  expect(placed([marker(200), marker(201)])).toEqual([
    [201, 207, "start"],
    [200, null, null],
  ]);
});

test("a narrow plot has lines only", () => {
  expect(placed([marker(100)], 400)).toEqual([[100, null, null]]);
});
