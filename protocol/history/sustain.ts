/**
 * Judges whether an uplink keeps up with the saves of a run. A checkpoint takes its size over the rate. A tenth of the time
 * stays free, because a link that is always busy has no room for a retry.
 */
const SPARE = 1.1;

/**
 * Returns the shortest interval (ms) between checkpoints of `checkpointBytes` that an uplink of `bytesPerSecond` can
 * sustain; null while either is unknown (0).
 */
export function leastIntervalMs(checkpointBytes: number, bytesPerSecond: number): number | null {
  if (checkpointBytes <= 0 || bytesPerSecond <= 0) return null;
  return Math.ceil((checkpointBytes / bytesPerSecond) * 1000 * SPARE);
}
