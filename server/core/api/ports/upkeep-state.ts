import type { FaultData } from "#protocol/faults/fault.ts";

/** State of the janitor, in memory only. */
export interface UpkeepState {
  isJanitorRunning: boolean;
  /** How the last look of this hub failed; null when it did not. */
  janitorFault: FaultData | null;
}
