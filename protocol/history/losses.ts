import * as z from "zod";
import { runName } from "../base/names.ts";
import { formatCount, formatDuration } from "../base/units.ts";

/** Cost of interruptions, summed by weeks that begin on Mondays (UTC), and in money when a node-hour has a price. */

/** Losses without a known step and shorter than this are within the error of the time at which the program was last seen. */
export const LEAST_UNCERTAIN_MS = 5_000;

/**
 * Describes a loss: `19 steps (2 min)`; `about 19 steps (2 min)` when the steps are estimated; `2 min of work` without known
 * steps.
 */
export function lostWords(lost: { lostSteps: number; lostMs: number; isEstimated?: boolean | undefined }): string {
  const { lostSteps, lostMs, isEstimated = false } = lost;
  if (lostSteps === 0) return `${formatDuration(lostMs)} of work`;
  const steps = `${formatCount(lostSteps)} ${lostSteps === 1 ? "step" : "steps"}`;
  return `${isEstimated ? "about " : ""}${steps} (${formatDuration(lostMs)})`;
}

export const lossSummaryInput = z.object({
  run: runName.nullable(),
  weeks: z.number().int().min(1).max(52).default(12),
});

export const nodePrice = z.object({
  /** Price of one node for an hour. */
  perHour: z.number().min(0).max(10_000),
  currency: z.string().regex(/^[A-Z]{3}$/, "a currency is three capital letters, for example USD"),
});
export type NodePriceView = z.infer<typeof nodePrice>;

/** `run: null` sets the price for all runs without their own. `price: null` removes the price. */
export const setNodePriceInput = z.object({ run: runName.nullable(), price: nodePrice.nullable() });

export interface Money {
  currency: string;
  amount: number;
}

export interface LossSum {
  interruptions: number;
  lostSteps: number;
  lostMs: number;
  /** By currency; empty when no node-hour has a price. */
  costs: Money[];
}

export interface LossWeek extends LossSum {
  /** Start of the week, which is its Monday; epoch ms. */
  from: number;
}

export interface LossSummary {
  /** The price of this run, or the price for all; null without one. */
  price: (NodePriceView & { of: "run" | "fleet" }) | null;
  /** Oldest first; the last one is the current week. */
  weeks: LossWeek[];
  total: LossSum;
}

/** Training that had to be done again after an interruption. */
export interface LossRow {
  id: string;
  at: number;
  run: string;
  epoch: number;
  /** Node that lost the work; the name is null once the node is forgotten. */
  nodeId: string;
  nodeName: string | null;
  /** The node that continues. */
  byNodeId: string;
  byNodeName: string | null;
  /** Step from which training continued; null: from the beginning. */
  fromStep: number | null;
  lastStep: number;
  lostSteps: number;
  lostMs: number;
  /** The program reports no steps: `lostSteps` is estimated from its pace, or 0 when unknown. */
  isEstimated: boolean;
  /** Null when no node-hour of the run has a price. */
  cost: Money | null;
}
