/**
 * The rate of a link, from how many bytes had moved at which moments: of the part of the time box in which the ramp-up was
 * over. Slow start makes the beginning too slow, buffers that fill make it too fast; so the beginning is not judged by its
 * direction but cut off where the rest is known best (the marginal standard error rule of simulations): each moment cut
 * off costs certainty, each outlier left in costs more. Pure.
 */
export interface Reading {
  /** Milliseconds, only going up. */
  atMs: number;
  /** Moved since the beginning. */
  bytes: number;
}

export interface SteadyRate {
  bytesPerSecond: number;
  /** From the first reading to where the steady part begins. */
  rampMs: number;
  /** False: it was still changing when the time was over, so this is what had been reached. */
  isSteady: boolean;
}

const WINDOW_MS = 250;
const LEAST_WINDOWS = 6;
/** What is left must be long enough to be told from a good moment. */
const MOST_RAMP_SHARE = 0.6;
/** Of cuts that are about as good the first one is where the ramp-up ended; the best one is often a chance. */
const ABOUT_AS_GOOD = 1.3;
/** Two halves that differ by more are not one rate. */
const MOST_DRIFT = 0.2;

/** Null when there is too little to say anything: no time, or no bytes. Long measurements are cut into longer windows. */
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

/** How many of the first windows to leave out. */
function endOfRamp(rates: readonly number[], most: number): number {
  const errors = Array.from({ length: most + 1 }, (_, at) => {
    const rest = rates.slice(at);
    const middle = mean(rest);
    return rest.reduce((sum, rate) => sum + (rate - middle) ** 2, 0) / rest.length ** 2;
  });
  const least = Math.min(...errors);
  return errors.findIndex((error) => error <= least * ABOUT_AS_GOOD);
}

/** By least squares over all edges: bytes come in lumps, and the two ends alone would be wrong by one of them. */
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

/** Between two readings, as if bytes had moved evenly. */
function bytesAt(readings: readonly Reading[], atMs: number): number {
  const after = readings.findIndex((reading) => reading.atMs >= atMs);
  const next = readings[after];
  if (next === undefined) return readings.at(-1)?.bytes ?? 0;
  const before = readings[after - 1];
  if (before === undefined) return next.bytes;
  return before.bytes + ((next.bytes - before.bytes) * (atMs - before.atMs)) / (next.atMs - before.atMs);
}
