import * as z from "zod";
import { runName } from "../base/names.ts";
import { formatCount, formatDuration } from "../base/units.ts";

/** What interruptions cost, added up by weeks that begin on Mondays (UTC), and in money where a node-hour has a price. */

/** Less than this, without a known step, is within the error of when a program was last seen at work. */
export const LEAST_UNCERTAIN_MS = 5_000;

/**
 * Returns what was lost in words: `19 steps (2 min)`, `about 19 steps (2 min)` where the program says no steps, `2 min of
 * work` where none is known.
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
  /** Of one node for an hour. */
  perHour: z.number().min(0).max(10_000),
  currency: z.string().regex(/^[A-Z]{3}$/, "a currency is three capital letters, for example USD"),
});
export type NodePriceView = z.infer<typeof nodePrice>;

/** `run: null`: of all runs that have none of their own. `price: null` takes it away. */
export const setNodePriceInput = z.object({ run: runName.nullable(), price: nodePrice.nullable() });

export interface Money {
  currency: string;
  amount: number;
}

export interface LossSum {
  interruptions: number;
  lostSteps: number;
  lostMs: number;
  /** By currency; none where no node-hour has a price. */
  costs: Money[];
}

export interface LossWeek extends LossSum {
  /** Epoch ms of its Monday. */
  from: number;
}

export interface LossSummary {
  /** What counts for this run, or for all; null without one. */
  price: (NodePriceView & { of: "run" | "fleet" }) | null;
  /** Oldest first, the present one last. */
  weeks: LossWeek[];
  total: LossSum;
}

/** Training that had to be done again after an interruption. */
export interface LossRow {
  id: string;
  at: number;
  run: string;
  epoch: number;
  /** Where it was lost; the name is null once the node is forgotten. */
  nodeId: string;
  nodeName: string | null;
  /** The node that goes on. */
  byNodeId: string;
  byNodeName: string | null;
  /** Null: from the beginning. */
  fromStep: number | null;
  lastStep: number;
  lostSteps: number;
  lostMs: number;
  /** Its program says no steps: they are reckoned from its pace, or not known (`lostSteps` is 0). */
  isEstimated: boolean;
  /** Null where no node-hour of the run has a price. */
  cost: Money | null;
}
