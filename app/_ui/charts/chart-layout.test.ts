import { expect, test } from "vitest";
import { layOutChart, type Series } from "./chart-layout.ts";

const series = (over: Partial<Series> & Pick<Series, "key">): Series => ({
  label: over.key,
  tone: "safe",
  values: [0, 5, 10],
  format: String,
  scale: { name: "rate", base: 10 },
  ...over,
});
const layOut = (all: readonly Series[], width = 800) =>
  layOutChart({ times: [0, 50, 100], series: all, from: 0, to: 100, width, height: 172 });

test("time runs from the left edge to the labels, values from the floor up to the last tick", () => {
  const { plot, x, y, scales, pointsOf } = layOut([series({ key: "up" })]);
  expect([x(0), x(100)]).toEqual([plot.left, plot.left + plot.width]);
  expect(plot.left + plot.width).toBe(740);
  expect([y(0, "rate"), y(scales[0]?.ticks.at(-1) ?? 0, "rate")]).toEqual([plot.floor, 16]);
  expect(pointsOf(series({ key: "up" })).map((point) => point.x)).toEqual([x(0), x(50), x(100)]);
});

test("series of one scale share it, a scale of one series has its colour, and there are two at most", () => {
  const { scales } = layOut([
    series({ key: "up" }),
    series({ key: "down", tone: "moving", values: [0, 40, 0] }),
    series({ key: "risk", tone: "risk", values: [0, 0, 0], scale: { name: "bytes", base: 1024 } }),
    series({ key: "other", scale: { name: "other", base: 10 } }),
  ]);
  expect(scales.map(({ name, tone, isEmpty }) => [name, tone, isEmpty])).toEqual([
    ["rate", null, false],
    ["bytes", "risk", true],
  ]);
  expect(scales[0]?.ticks.at(-1)).toBeGreaterThanOrEqual(40);
});

test("on narrow screens the labels stand inside", () => {
  const { plot, hasSide } = layOut([series({ key: "up" })], 360);
  expect([hasSide, plot.left + plot.width]).toEqual([false, 359]);
});

test("the scale follows what is shown of a part", () => {
  const all = { times: [0, 50, 100], series: [series({ key: "up", values: [900, 5, 3] })], width: 800, height: 172 };
  expect(layOutChart({ ...all, from: 0, to: 100 }).scales[0]?.ticks.at(-1)).toBe(1_000);
  expect(layOutChart({ ...all, from: 40, to: 100 }).scales[0]?.ticks.at(-1)).toBe(5);
});

test("over steps a series has points where it has values, from where they lie, and its line never breaks", () => {
  const loss = series({ key: "loss", values: [2.5, null, 2.1], scale: { name: "loss", base: 10, from: "values" } });
  const asked = { axis: "steps" as const, times: [0, 50, 100], from: 0, to: 100, width: 800, height: 172 };
  const { pointsOf, scales, gap, x, y, plot } = layOutChart({ ...asked, series: [loss] });
  expect(pointsOf(loss).map((point) => point.x)).toEqual([x(0), x(100)]);
  expect(scales[0]?.ticks[0]).toBe(2);
  expect(y(2, "loss")).toBe(plot.floor);
  expect(gap).toBe(Infinity);
});
