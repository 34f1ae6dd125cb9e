import { formatBytes, formatCount, formatEta, formatRate } from "#protocol/base/units.ts";
import { visibleText } from "#protocol/base/visible-text.ts";
import { STALLED_MS } from "./movement-of.ts";
import type { ProgressCounters } from "./transfer-progress.ts";

/**
 * Data of the progress sentence, which is the same on every surface: source, target, bytes done and total, rate, time left.
 */
export interface Moving {
  from: string;
  to: string;
  counters: ProgressCounters;
  bytesPerSecond: number;
}

/** Returns the time left at the present rate, ms; null when nothing moves. */
function etaMs(counters: ProgressCounters, bytesPerSecond: number): number | null {
  return bytesPerSecond > 0 ? ((counters.bytesTotal - counters.bytesDone) / bytesPerSecond) * 1000 : null;
}

/** Returns the progress sentence: `gpu-7 -> bucket/key, 12 of 40 files, 3.1 GiB of 18 GiB, 41 MB/s, about 6 min left`. */
export function transferSentence({ from, to, counters, bytesPerSecond }: Moving): string {
  const parts = [`${visibleText(from)} -> ${visibleText(to)}`];
  if (counters.filesTotal !== 1)
    parts.push(`${formatCount(counters.filesDone)} of ${formatCount(counters.filesTotal)} files`);
  parts.push(`${formatBytes(counters.bytesDone)} of ${formatBytes(counters.bytesTotal)}`);
  const idleMs = counters.idleMs();
  if (counters.lastFault !== null && idleMs > 1000) {
    parts.push(`stalled ${Math.round(idleMs / 1000)} s, trying again (${counters.lastFault.code})`);
  } else if (idleMs > STALLED_MS) {
    parts.push(`stalled ${Math.round(idleMs / 1000)} s`);
  } else {
    parts.push(formatRate(bytesPerSecond, "bytes"));
    const eta = formatEta(etaMs(counters, bytesPerSecond));
    if (eta !== null) parts.push(eta);
  }
  return parts.join(", ");
}

const WIDTH = 32;

/** Returns the progress bar: `█` acknowledged, `▒` in flight, `░` still to move. */
export function tideLine(counters: ProgressCounters): string {
  if (counters.bytesTotal === 0) return "█".repeat(WIDTH);
  const sure = Math.floor((counters.bytesSure / counters.bytesTotal) * WIDTH);
  const moving = Math.min(WIDTH, Math.ceil((counters.bytesDone / counters.bytesTotal) * WIDTH)) - sure;
  return (
    "█".repeat(sure) + "▒".repeat(Math.max(0, moving)) + "░".repeat(Math.max(0, WIDTH - sure - Math.max(0, moving)))
  );
}

/** Returns the data of the progress sentence for `--json`. */
export function transferFacts({ from, to, counters, bytesPerSecond }: Moving): Record<string, unknown> {
  return {
    from,
    to,
    bytesDone: counters.bytesDone,
    bytesTotal: counters.bytesTotal,
    filesDone: counters.filesDone,
    filesTotal: counters.filesTotal,
    bytesPerSecond: Math.round(bytesPerSecond),
    etaMs: etaMs(counters, bytesPerSecond),
    retries: counters.retries,
    fault: counters.lastFault?.toData() ?? null,
  };
}
