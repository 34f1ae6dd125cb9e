import * as z from "zod";
import { runName, step } from "../base/names.ts";

/** Metrics of the training that checkpoints carry, over the steps of a run. */

/** Largest number of metrics in an answer, and of lines (epochs) for each. */
export const MOST_METRICS_ASKED = 4;
export const MOST_METRIC_LINES = 12;
/** Largest number of points in a line. */
export const MOST_METRIC_POINTS = 1_000;

export const runMetricsInput = z.object({
  run: runName,
  /** Empty: the first metrics of the newest checkpoints, losses first. */
  names: z.array(z.string().max(200)).max(MOST_METRICS_ASKED).default([]),
  /** Limits the answer to these steps, both ends included. */
  steps: z.object({ from: step, to: step }).nullable().default(null),
  /** Largest number of points per metric and epoch. Longer lines are thinned evenly over the steps; first and last point stay. */
  points: z.number().int().min(10).max(MOST_METRIC_POINTS).default(300),
});

export interface MetricLine {
  epoch: number;
  /** Ascending; `values` and `ids` (of the checkpoints) have the same order. */
  steps: number[];
  values: number[];
  ids: string[];
}

export interface RunMetric {
  name: string;
  /** Newest epoch first. */
  lines: MetricLine[];
}

export interface RunMetrics {
  /** Names of metrics in the checkpoints that were read, losses first. */
  names: string[];
  metrics: RunMetric[];
}
