import type { TransferProgress } from "#protocol/wire/reports.ts";
import type { Engine } from "../engine.ts";
import type { Tally } from "./transfer-progress.ts";

/** A transfer without a byte for this long is reported as stalled. */
export const STALLED_MS = 5_000;

type Movement = Pick<
  TransferProgress,
  "bytesDone" | "filesDone" | "currentPath" | "bytesPerSecond" | "connections" | "pieces"
>;

/**
 * Returns the present progress of a transfer for reports. `tally`: null while the transfer is not at work. `engine`: null
 * means a rate of 0.
 */
export function movementOf(tally: Tally | null, engine: Engine | null): Movement {
  return {
    bytesDone: tally?.bytesDone ?? 0,
    filesDone: tally?.filesDone ?? 0,
    currentPath: tally?.currentPath ?? null,
    bytesPerSecond: tally === null ? 0 : (engine?.meter.bytesPerSecond() ?? 0),
    connections: tally === null ? 0 : (engine?.gate.held ?? 0),
    pieces: tally?.pieces() ?? "",
  };
}

/** Returns how long no byte of a transfer has moved, ms, once that counts as stalled; else null. */
export function stalledMsOf(tally: Tally | null): number | null {
  const idleMs = tally === null ? 0 : Math.round(tally.idleMs());
  return idleMs > STALLED_MS ? idleMs : null;
}
