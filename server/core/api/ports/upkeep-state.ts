import type { FaultData } from "#protocol/faults/fault.ts";

/** State of the janitor (the job that removes orphans), in memory only. */
export interface UpkeepState {
  isJanitorRunning: boolean;
  /** The Fault of the last run; null when it succeeded. */
  janitorFault: FaultData | null;
}
