import type { RunMetric } from "#protocol/checkpoint/run-metrics.ts";
import { formatCount } from "#protocol/base/units.ts";
import type { Series } from "../_ui/charts/chart-layout.ts";
import type { StepRange } from "./step-range.ts";

/** Converts metrics over steps into chart series. Pure. */

/** Formats a metric: `1.412`, `1,024`, `2.0e-5`. */
export function metricValue(value: number): string {
  if (Number.isInteger(value) && Math.abs(value) < 1e6) return formatCount(value);
  const size = Math.abs(value);
  return size >= 1e6 || size < 1e-3 ? value.toExponential(1) : value.toPrecision(4);
}

/** Returns the steps of all epochs, and one series per epoch. The newest is last, so that it is drawn on top. */
export function chartOf({ lines }: RunMetric): { times: number[]; series: Series[] } {
  const times = [...new Set(lines.flatMap(({ steps }) => steps))].toSorted((a, b) => a - b);
  const places = new Map(times.map((step, index) => [step, index]));
  const series = lines.map((line, order): Series => {
    const values = times.map((): number | null => null);
    for (const [index, step] of line.steps.entries()) values[places.get(step) ?? 0] = line.values[index] ?? null;
    return {
      key: String(line.epoch),
      label: `epoch ${line.epoch}`,
      tone: order === 0 ? "safe" : "quiet",
      values,
      format: metricValue,
      scale: { name: "metric", base: 10, from: "values" },
    };
  });
  return { times, series: series.toReversed() };
}

/** Returns the id of the checkpoint at a step, from the newest epoch that has one; null without any. */
export function checkpointAt({ lines }: RunMetric, step: number): string | null {
  for (const { steps, ids } of lines) {
    const at = steps.indexOf(step);
    if (at !== -1) return ids[at] ?? null;
  }
  return null;
}

/** Returns the range of steps that all charts of the page show. */
export function stepsShown(metrics: readonly RunMetric[], range: StepRange | null): StepRange {
  if (range !== null) return range;
  const ends = metrics.flatMap(({ lines }) => lines.flatMap(({ steps }) => [steps[0] ?? 0, steps.at(-1) ?? 0]));
  const [from, to] = [Math.min(...ends), Math.max(...ends)];
  if (ends.length === 0) return { from: 0, to: 1 };
  // Widened, so that a single step is in the middle.
  return from === to ? { from: Math.max(0, from - 1), to: to + 1 } : { from, to };
}
