import type { FaultData } from "#protocol/faults/fault.ts";
import { createSignal, type Signal } from "./signal.ts";

/** What is known of jobs only while they are worked on; everything else stands in the database. */
export interface JobProgress {
  /** Stops the work on it. */
  stop: AbortController;
  foundObjects: number;
  /** Of the chunk that is under way. */
  doneObjects: number;
  doneBytes: number;
  /** Why it waits before it tries again; null while it moves. */
  waitsFor: FaultData | null;
}

export interface JobBoard {
  /** Rings when there may be something to do. */
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
