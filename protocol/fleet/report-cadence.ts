/**
 * Determines when the hub expects the next report of a node, and after how much silence it marks the node. The hub tells
 * each node how often to report; a node that keeps to it never becomes unconfirmed.
 */

/** Number of intervals that a node may miss, but at least `LEAST_LATE_MS`: its machine may be busy or its link slow. */
const LATE_CADENCES = 2.5;
const LEAST_LATE_MS = 10_000;
const SILENT_AFTER_MS = 30_000;
const UNCONFIRMED_AT_LEAST_MS = 5_000;

/** Returns the silence (ms) after which a node that reports every `reportEveryMs` becomes unconfirmed. */
export const unconfirmedAfterMs = (reportEveryMs: number): number =>
  Math.max(LEAST_LATE_MS, Math.round(LATE_CADENCES * reportEveryMs));

/** Returns the silence (ms) after which such a node becomes silent: always some time after it became unconfirmed. */
export const silentAfterMs = (reportEveryMs: number): number =>
  Math.max(SILENT_AFTER_MS, unconfirmedAfterMs(reportEveryMs) + UNCONFIRMED_AT_LEAST_MS);
