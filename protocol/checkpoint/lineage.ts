import type { LineBranch } from "./line-branch.ts";

/** Lineage of a run: which node wrote which steps, and from where each writer continued. */

export interface LineageEpoch {
  /** 0: checkpoints of other tools, which precede every writer. */
  epoch: number;
  nodeId: string | null;
  nodeName: string;
  claimedAt: number | null;
  /** Time at which the next writer took over; null for the present one. */
  endedAt: number | null;
  /** Null: the run started fresh. */
  parent: { epoch: number; step: number } | null;
  /** Where it branches off; null when it is no new line of training. */
  branch: LineBranch | null;
  /** Steps of complete checkpoints; null without any. */
  firstStep: number | null;
  lastStep: number | null;
  complete: number;
  sizeBytes: number;
  /** Checkpoints that were captured but not complete when the next writer took over. */
  unfinished: number;
  /** Work of the previous epoch that had to be repeated when this one began. */
  lost: { steps: number; ms: number } | null;
}

/** An upload that was refused because another node now writes the run. */
export interface Refusal {
  at: number;
  nodeId: string;
  nodeName: string;
  step: number;
}

export interface LineageView {
  run: string;
  /** Newest first, at most 200. */
  epochs: LineageEpoch[];
  omitted: number;
  refusals: { total: number; newest: Refusal[] };
}

/** An epoch of a run as the page of the run lists it. */
export interface EpochView {
  epoch: number;
  parent: { epoch: number; step: number } | null;
  /** Where it branches off; null when it is no new line of training. */
  branch: LineBranch | null;
  nodeId: string;
  nodeName: string;
  claimedAt: number;
}

/** A restored checkpoint from which a program did not go on: nothing up to its epoch is removed while it is listed. */
export interface PassedOverView {
  given: { epoch: number; step: number };
  /** Step of the checkpoint on the disk that the program went on from; null: the beginning, or unknown. */
  fromStep: number | null;
  /** Where the checkpoint lies on the node; null: unknown. */
  path: string | null;
  /** The first checkpoint that the program wrote itself; absent: unknown. */
  wrote?: string;
  nodeName: string;
  at: number;
}
