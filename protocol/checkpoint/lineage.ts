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
