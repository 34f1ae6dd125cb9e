/**
 * Whether an uplink keeps up with how often a run saves. A checkpoint needs its size over the rate; a link that is busy
 * all the time has no room for a retry, so a tenth is kept free.
 */
const SPARE = 1.1;

/**
 * The shortest time between two checkpoints of `checkpointBytes` that an uplink of `bytesPerSecond` can sustain, ms; null
 * while either is unknown (0).
 */
export function leastIntervalMs(checkpointBytes: number, bytesPerSecond: number): number | null {
  if (checkpointBytes <= 0 || bytesPerSecond <= 0) return null;
  return Math.ceil((checkpointBytes / bytesPerSecond) * 1000 * SPARE);
}
