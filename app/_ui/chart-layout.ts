import { ticksFor, timeTicks, type Point } from "./chart-scale.ts";
import type { Tone } from "./mark.tsx";

export interface Series {
  key: string;
  label: string;
  tone: Exclude<Tone, "quiet">;
  values: readonly number[];
  format: (value: number) => string;
  /** Series with the same scale share one axis; the first is labelled at the right, the second inside at the left. */
  scale: { name: string; base: 10 | 1024 };
  fill?: "area" | "line";
}

export interface ChartScale {
  name: string;
  ticks: readonly number[];
  format: (value: number) => string;
  /** Nothing above zero is drawn on it. */
  isEmpty: boolean;
  /** Of the one series that has it; null where several share it. */
  tone: Series["tone"] | null;
}

interface Asked {
  times: readonly number[];
  series: readonly Series[];
  from: number;
  to: number;
  /** In pixels, all of it. */
  width: number;
  height: number;
  /** A line breaks where nothing was measured for so long; without it, where the points stand unusually far apart. */
  breakAfterMs?: number | undefined;
}

export interface ChartLayout {
  width: number;
  height: number;
  /** Where lines are drawn: from `left` on, `width` wide, down to `floor`. */
  plot: { left: number; width: number; floor: number };
  /** One or two. */
  scales: readonly ChartScale[];
  timeTicks: readonly number[];
  spanMs: number;
  /** Labels of the first scale stand beside the plot, not inside it. */
  hasSide: boolean;
  /** Points further apart, in pixels, are not joined. */
  gap: number;
  x: (at: number) => number;
  y: (value: number, scale: string) => number;
  pointsOf: (one: Series) => Point[];
}

export const CHART_TOP = 16;
const BOTTOM = 24;
/** Room for the labels at the right; on narrow screens they stand inside. */
const SIDE = 60;
const NARROW = 480;
const LEFT = 1;

function scalesOf(series: readonly Series[]): ChartScale[] {
  return [...new Map(series.map((one) => [one.scale.name, one.scale])).values()].slice(0, 2).map(({ name, base }) => {
    const own = series.filter((one) => one.scale.name === name);
    const largest = own.reduce((top, one) => one.values.reduce((high, value) => Math.max(high, value), top), 0);
    const [only] = own;
    return {
      name,
      ticks: ticksFor(largest, base),
      format: only?.format ?? String,
      isEmpty: largest <= 0,
      tone: own.length === 1 && only !== undefined ? only.tone : null,
    };
  });
}

/** Where everything of a chart over time stands, in pixels. */
export function layOutChart({ times, series, from, to, width, height, breakAfterMs }: Asked): ChartLayout {
  const scales = scalesOf(series);
  const hasSide = width > NARROW;
  const plot = { left: LEFT, width: Math.max(1, width - LEFT - (hasSide ? SIDE : 1)), floor: height - BOTTOM };
  const span = Math.max(1, to - from);
  const x = (at: number): number => plot.left + ((at - from) / span) * plot.width;
  const tops = new Map(scales.map((scale) => [scale.name, scale.ticks.at(-1) ?? 1]));
  const y = (value: number, scale: string): number =>
    plot.floor - (Math.max(0, value) / (tops.get(scale) ?? 1)) * (plot.floor - CHART_TOP);
  return {
    width,
    height,
    plot,
    scales,
    timeTicks: timeTicks(from, to, Math.max(2, Math.floor(plot.width / 110))),
    spanMs: to - from,
    hasSide,
    gap:
      breakAfterMs === undefined
        ? Math.max(12, (plot.width / Math.max(1, times.length)) * 4)
        : (breakAfterMs / span) * plot.width,
    x,
    y,
    pointsOf: (one) => times.map((at, index) => ({ x: x(at), y: y(one.values[index] ?? 0, one.scale.name) })),
  };
}
