import { formatBytes, formatCount, formatEta, formatRate } from "#protocol/base/units.ts";
import { visibleText } from "#protocol/base/visible-text.ts";
import { STALLED_MS } from "./movement-of.ts";
import type { Tally } from "./transfer-progress.ts";

/**
 * Data of the progress sentence, which is the same on every surface: source, target, bytes done and total, rate, time left.
 */
export interface Moving {
  from: string;
  to: string;
  tally: Tally;
  bytesPerSecond: number;
}

/** Returns the time left at the present rate, ms; null when nothing moves. */
function etaMs(tally: Tally, bytesPerSecond: number): number | null {
  return bytesPerSecond > 0 ? ((tally.bytesTotal - tally.bytesDone) / bytesPerSecond) * 1000 : null;
}

/** Returns the progress sentence: `gpu-7 -> bucket/key, 12 of 40 files, 3.1 GiB of 18 GiB, 41 MB/s, about 6 min left`. */
export function transferSentence({ from, to, tally, bytesPerSecond }: Moving): string {
  const parts = [`${visibleText(from)} -> ${visibleText(to)}`];
  if (tally.filesTotal !== 1) parts.push(`${formatCount(tally.filesDone)} of ${formatCount(tally.filesTotal)} files`);
  parts.push(`${formatBytes(tally.bytesDone)} of ${formatBytes(tally.bytesTotal)}`);
  const idleMs = tally.idleMs();
  if (tally.lastFault !== null && idleMs > 1000) {
    parts.push(`stalled ${Math.round(idleMs / 1000)} s, trying again (${tally.lastFault.code})`);
  } else if (idleMs > STALLED_MS) {
    parts.push(`stalled ${Math.round(idleMs / 1000)} s`);
  } else {
    parts.push(formatRate(bytesPerSecond, "bytes"));
    const eta = formatEta(etaMs(tally, bytesPerSecond));
    if (eta !== null) parts.push(eta);
  }
  return parts.join(", ");
}

const WIDTH = 32;

/** Returns the progress bar: `█` acknowledged, `▒` in flight, `░` still to move. */
export function tideLine(tally: Tally): string {
  if (tally.bytesTotal === 0) return "█".repeat(WIDTH);
  const sure = Math.floor((tally.bytesSure / tally.bytesTotal) * WIDTH);
  const moving = Math.min(WIDTH, Math.ceil((tally.bytesDone / tally.bytesTotal) * WIDTH)) - sure;
  return (
    "█".repeat(sure) + "▒".repeat(Math.max(0, moving)) + "░".repeat(Math.max(0, WIDTH - sure - Math.max(0, moving)))
  );
}

/** Returns the data of the progress sentence for `--json`. */
export function transferFacts({ from, to, tally, bytesPerSecond }: Moving): Record<string, unknown> {
  return {
    from,
    to,
    bytesDone: tally.bytesDone,
    bytesTotal: tally.bytesTotal,
    filesDone: tally.filesDone,
    filesTotal: tally.filesTotal,
    bytesPerSecond: Math.round(bytesPerSecond),
    etaMs: etaMs(tally, bytesPerSecond),
    retries: tally.retries,
    fault: tally.lastFault?.toData() ?? null,
  };
}
