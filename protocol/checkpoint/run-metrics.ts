import * as z from "zod";
import { runName, step } from "../base/names.ts";

/** What checkpoints say of the training, over the steps of a run. */

/** Metrics that are told at a time, and lines (epochs) of each. */
export const MOST_METRICS_ASKED = 4;
export const MOST_METRIC_LINES = 12;
/** Points of a line. */
export const MOST_METRIC_POINTS = 1_000;

export const runMetricsInput = z.object({
  run: runName,
  /** Empty: the first ones that the newest checkpoints carry, a loss before others. */
  names: z.array(z.string().max(200)).max(MOST_METRICS_ASKED).default([]),
  /** Only of these steps, both ends among them. */
  steps: z.object({ from: step, to: step }).nullable().default(null),
  /** Most points of a metric in an epoch. Of more, so many are told that lie evenly over the steps, the first and the last among them. */
  points: z.number().int().min(10).max(MOST_METRIC_POINTS).default(300),
});

export interface MetricLine {
  epoch: number;
  /** Ascending; `values` and `ids` of the checkpoints go with them. */
  steps: number[];
  values: number[];
  ids: string[];
}

export interface RunMetric {
  name: string;
  /** The newest epoch first. */
  lines: MetricLine[];
}

export interface RunMetrics {
  /** Names that the checkpoints that were looked at carry, a loss first. */
  names: string[];
  metrics: RunMetric[];
}
