/** How a run came to be what it is: who wrote which steps, and from where each writer went on. */

export interface LineageEpoch {
  /** 0: what other tools left, before every writer. */
  epoch: number;
  nodeId: string | null;
  nodeName: string;
  claimedAt: number | null;
  /** When the next writer took over; null for the present one. */
  endedAt: number | null;
  /** Null: the run started fresh. */
  parent: { epoch: number; step: number } | null;
  /** Of complete checkpoints; null without any. */
  firstStep: number | null;
  lastStep: number | null;
  complete: number;
  sizeBytes: number;
  /** Captured, and never became complete before the next writer took over. */
  unfinished: number;
  /** What its beginning cost: work of the epoch before that had to be done again. */
  lost: { steps: number; ms: number } | null;
}

/** An upload that was refused because another node writes the run now. */
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
