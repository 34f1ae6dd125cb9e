import type { TransferProgress } from "#protocol/wire/reports.ts";
import type { Engine } from "../engine.ts";
import type { ProgressCounters } from "./transfer-progress.ts";

/** A transfer without a byte for this long is reported as stalled. */
export const STALLED_MS = 5_000;

type Movement = Pick<
  TransferProgress,
  "bytesDone" | "filesDone" | "currentPath" | "bytesPerSecond" | "connections" | "pieces"
>;

/**
 * Returns the present progress of a transfer for reports. `counters`: null while the transfer is not at work. `engine`: null
 * means a rate of 0.
 */
export function movementOf(counters: ProgressCounters | null, engine: Engine | null): Movement {
  return {
    bytesDone: counters?.bytesDone ?? 0,
    filesDone: counters?.filesDone ?? 0,
    currentPath: counters?.currentPath ?? null,
    bytesPerSecond: counters === null ? 0 : (engine?.meter.bytesPerSecond() ?? 0),
    connections: counters === null ? 0 : (engine?.semaphore.held ?? 0),
    pieces: counters?.pieces() ?? "",
  };
}

/** Returns how long no byte of a transfer has moved, ms, once that counts as stalled; else null. */
export function stalledMsOf(counters: ProgressCounters | null): number | null {
  const idleMs = counters === null ? 0 : Math.round(counters.idleMs());
  return idleMs > STALLED_MS ? idleMs : null;
}
