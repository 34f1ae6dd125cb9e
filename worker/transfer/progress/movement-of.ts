import type { TransferProgress } from "#protocol/wire/reports.ts";
import type { Engine } from "../engine.ts";
import type { Tally } from "./transfer-progress.ts";

/** A link that was silent this long is worth a word. */
export const STALLED_MS = 5_000;

type Movement = Pick<
  TransferProgress,
  "bytesDone" | "filesDone" | "currentPath" | "bytesPerSecond" | "connections" | "pieces"
>;

/** What can be seen of a transfer now. The tally of what is not at work is null; without its engine it does not move. */
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

/** How long no byte of it has moved, in milliseconds, once that is long enough to say; else null. */
export function stalledMsOf(tally: Tally | null): number | null {
  const idleMs = tally === null ? 0 : Math.round(tally.idleMs());
  return idleMs > STALLED_MS ? idleMs : null;
}
