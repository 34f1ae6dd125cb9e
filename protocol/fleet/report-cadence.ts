/**
 * When the hub may expect the next report of a node, and after how much quiet it says so. The hub tells each node how often
 * to report; a node that keeps to it is never unconfirmed.
 */

/** A node may be quiet for this many cadences, and never for less than that time: a busy machine, a slow link. */
const LATE_CADENCES = 2.5;
const LEAST_LATE_MS = 10_000;
const SILENT_AFTER_MS = 30_000;
const UNCONFIRMED_AT_LEAST_MS = 5_000;

/** Returns after how much quiet a node that reports every `reportEveryMs` is unconfirmed. Milliseconds. */
export const unconfirmedAfterMs = (reportEveryMs: number): number =>
  Math.max(LEAST_LATE_MS, Math.round(LATE_CADENCES * reportEveryMs));

/** Returns after how much quiet such a node is silent: never before it was unconfirmed for a while. Milliseconds. */
export const silentAfterMs = (reportEveryMs: number): number =>
  Math.max(SILENT_AFTER_MS, unconfirmedAfterMs(reportEveryMs) + UNCONFIRMED_AT_LEAST_MS);
