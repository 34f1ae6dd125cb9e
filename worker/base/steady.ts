/**
 * Estimates the rate of a link from byte counts over time, without the ramp-up. Slow start makes the beginning too slow;
 * buffers that fill make it too fast. The cut lies where the rest has the least standard error (marginal standard error rule of
 * simulations). Each reading cut off costs certainty; each outlier left in costs more. Pure.
 */
export interface Reading {
  /** Milliseconds, only going up. */
  atMs: number;
  /** Bytes moved since the beginning. */
  bytes: number;
}

export interface SteadyRate {
  bytesPerSecond: number;
  /** Time from the first reading to the steady part. */
  rampMs: number;
  /** False: the rate was still changing at the end, so it is what had been reached. */
  isSteady: boolean;
}

const WINDOW_MS = 250;
const LEAST_WINDOWS = 6;
/** The rest must be long enough to tell a rate from a lucky moment. */
const MOST_RAMP_SHARE = 0.6;
/** Factor of the least error: the first cut within it ends the ramp-up. The very best cut is often chance. */
const ABOUT_AS_GOOD = 1.3;
/** Two halves whose rates differ by more are not one rate. */
const MOST_DRIFT = 0.2;

/** Returns null when there is too little time, or no bytes. Long measurements use longer windows. */
export function steadyRate(readings: readonly Reading[], windowMs: number = WINDOW_MS): SteadyRate | null {
  const first = readings[0];
  const last = readings.at(-1);
  if (first === undefined || last === undefined || last.bytes <= first.bytes) return null;
  const windows = Math.floor((last.atMs - first.atMs) / windowMs);
  if (windows < LEAST_WINDOWS) return null;
  const edges = Array.from({ length: windows + 1 }, (_, at) => bytesAt(readings, first.atMs + at * windowMs));
  const rates = edges.slice(1).map((bytes, at) => bytes - (edges[at] ?? 0));
  const most = Math.floor(windows * MOST_RAMP_SHARE);
  const ramp = endOfRamp(rates, most);
  const steady = edges.slice(ramp);
  const perWindow = slopeOf(steady);
  if (perWindow <= 0) return null;
  const half = Math.floor((rates.length - ramp) / 2);
  const drift = mean(rates.slice(-half)) / Math.max(1, mean(rates.slice(ramp, ramp + half)));
  return {
    bytesPerSecond: (perWindow * 1000) / windowMs,
    rampMs: ramp * windowMs,
    isSteady: ramp < most && Math.abs(Math.log(Math.max(drift, Number.MIN_VALUE))) < Math.log(1 + MOST_DRIFT),
  };
}

/** Returns how many of the first windows to leave out. */
function endOfRamp(rates: readonly number[], most: number): number {
  const errors = Array.from({ length: most + 1 }, (_, at) => {
    const rest = rates.slice(at);
    const middle = mean(rest);
    return rest.reduce((sum, rate) => sum + (rate - middle) ** 2, 0) / rest.length ** 2;
  });
  const least = Math.min(...errors);
  return errors.findIndex((error) => error <= least * ABOUT_AS_GOOD);
}

/**
 * Returns the slope by least squares over all edges: bytes arrive in lumps, and the two ends alone would be off by one lump.
 */
function slopeOf(edges: readonly number[]): number {
  const middleAt = (edges.length - 1) / 2;
  const middle = mean(edges);
  const [above, below] = edges.reduce(
    ([up, down], bytes, at) => [up + (at - middleAt) * (bytes - middle), down + (at - middleAt) ** 2],
    [0, 0],
  );
  return above / below;
}

const mean = (values: readonly number[]): number =>
  values.reduce((sum, value) => sum + value, 0) / Math.max(1, values.length);

/** Returns the bytes at a moment, interpolated between two readings. */
function bytesAt(readings: readonly Reading[], atMs: number): number {
  const after = readings.findIndex((reading) => reading.atMs >= atMs);
  const next = readings[after];
  if (next === undefined) return readings.at(-1)?.bytes ?? 0;
  const before = readings[after - 1];
  if (before === undefined) return next.bytes;
  return before.bytes + ((next.bytes - before.bytes) * (atMs - before.atMs)) / (next.atMs - before.atMs);
}
