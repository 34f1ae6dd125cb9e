import type { FaultData } from "#protocol/faults/fault.ts";
import { createSignal, type Signal } from "./signal.ts";

/** Progress of a running job, in memory only; everything else about it is in the database. */
export interface JobProgress {
  /** Aborting it stops the job. */
  stop: AbortController;
  foundObjects: number;
  /** Objects done in the current chunk. */
  doneObjects: number;
  doneBytes: number;
  /** The Fault that it waits out before a retry; null while it moves. */
  waitsFor: FaultData | null;
}

export interface JobBoard {
  /** Signals that there may be work. */
  readonly wake: Signal;
  readonly jobs: Map<string, JobProgress>;
}

export const createJobBoard = (): JobBoard => ({ wake: createSignal(), jobs: new Map() });

export const newProgress = (): JobProgress => ({
  stop: new AbortController(),
  foundObjects: 0,
  doneObjects: 0,
  doneBytes: 0,
  waitsFor: null,
});
