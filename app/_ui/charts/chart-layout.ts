import { stepTicks, ticksBetween, ticksFor, timeTicks, type Point } from "./chart-scale.ts";
import type { Tone } from "../indicators/mark.tsx";

/** Quantity on the horizontal axis: the hub's time in milliseconds, or training steps. */
export type Axis = "time" | "steps";

export interface Series {
  key: string;
  label: string;
  tone: Tone;
  /** One value per sample; null where this series has none. */
  values: readonly (number | null)[];
  format: (value: number) => string;
  /** Series with the same scale name share one axis. The first axis is labelled at the right, the second inside at the left. */
  scale: { name: string; base: 10 | 1024; /** Starts the axis at the lowest value instead of at 0. */ from?: "values" };
  fill?: "area" | "line";
}

export interface ChartScale {
  name: string;
  ticks: readonly number[];
  format: (value: number) => string;
  /** True when no shown value is above zero. */
  isEmpty: boolean;
  /** Tone of the only series on this scale; null where several series share the scale. */
  tone: Series["tone"] | null;
}

interface Asked {
  axis?: Axis | undefined;
  times: readonly number[];
  series: readonly Series[];
  from: number;
  to: number;
  /** Width of the whole chart, labels included, in pixels. */
  width: number;
  height: number;
  /** Longest gap between samples that a line bridges. Default: four times their average distance, at least 12 pixels. */
  breakAfterMs?: number | undefined;
}

export interface ChartLayout {
  width: number;
  height: number;
  /** Area for the lines, in pixels: it starts at `left`, is `width` wide and ends at `floor`. */
  plot: { left: number; width: number; floor: number };
  /** One scale or two. */
  scales: readonly ChartScale[];
  axis: Axis;
  timeTicks: readonly number[];
  spanMs: number;
  /** True when the labels of the first scale are beside the plot; false when they are inside. */
  hasSide: boolean;
  /** Distance in pixels above which points are not joined. Infinite for steps: no sample is missing between two checkpoints. */
  gap: number;
  x: (at: number) => number;
  y: (value: number, scale: string) => number;
  pointsOf: (one: Series) => Point[];
}

export const CHART_TOP = 16;
const BOTTOM = 24;
/** Width reserved for the labels at the right, in pixels. On narrow screens the labels are inside the plot. */
const SIDE = 60;
const NARROW = 480;
const LEFT = 1;

/** Returns at most two scales, fitted to the samples in view; `isShown` says whether the sample at an index is in view. */
function scalesOf(series: readonly Series[], isShown: (index: number) => boolean): ChartScale[] {
  const scales = [...new Map(series.map((one) => [one.scale.name, one.scale])).values()].slice(0, 2);
  return scales.map(({ name, base, from }) => {
    const own = series.filter((one) => one.scale.name === name);
    const shown = own.flatMap(({ values }) => values.filter((value, index) => value !== null && isShown(index)));
    const [low, high] = shown.reduce<[number, number]>(
      ([least, most], value) => [Math.min(least, value ?? least), Math.max(most, value ?? most)],
      [Infinity, -Infinity],
    );
    const isSpread = from === "values" && shown.length > 0;
    const largest = Math.max(0, high);
    const [only] = own;
    return {
      name,
      ticks: isSpread ? ticksBetween(low, high) : ticksFor(largest, base),
      format: only?.format ?? String,
      isEmpty: !isSpread && largest <= 0,
      tone: own.length === 1 && only !== undefined ? only.tone : null,
    };
  });
}

/** Computes scales, ticks and pixel positions of a chart. */
export function layOutChart(asked: Asked): ChartLayout {
  const { axis = "time", times, series, from, to, width, height, breakAfterMs } = asked;
  const scales = scalesOf(series, (index) => (times[index] ?? from) >= from && (times[index] ?? to) <= to);
  const hasSide = width > NARROW;
  const plot = { left: LEFT, width: Math.max(1, width - LEFT - (hasSide ? SIDE : 1)), floor: height - BOTTOM };
  const span = Math.max(1, to - from);
  const x = (at: number): number => plot.left + ((at - from) / span) * plot.width;
  const ends = new Map(scales.map(({ name, ticks }) => [name, { low: ticks[0] ?? 0, high: ticks.at(-1) ?? 1 }]));
  const y = (value: number, scale: string): number => {
    const { low, high } = ends.get(scale) ?? { low: 0, high: 1 };
    return plot.floor - ((Math.max(low, value) - low) / (high - low)) * (plot.floor - CHART_TOP);
  };
  const most = Math.max(2, Math.floor(plot.width / 110));
  return {
    width,
    height,
    plot,
    scales,
    axis,
    timeTicks: axis === "time" ? timeTicks(from, to, most) : stepTicks(from, to, most),
    spanMs: to - from,
    hasSide,
    gap:
      axis === "steps"
        ? Infinity
        : breakAfterMs === undefined
          ? Math.max(12, (plot.width / Math.max(1, times.length)) * 4)
          : (breakAfterMs / span) * plot.width,
    x,
    y,
    pointsOf: (one) =>
      times.flatMap((at, index) => {
        const value = one.values[index] ?? null;
        return value === null ? [] : [{ x: x(at), y: y(value, one.scale.name) }];
      }),
  };
}
