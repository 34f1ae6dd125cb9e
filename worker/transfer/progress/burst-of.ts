import type { Reading } from "#worker/base/steady.ts";

/**
 * Rates of a transfer in its first seconds and in its last quarter: links that are throttled after a burst show a difference.
 * The very beginning is left out, because slow start is no sign of that. Pure.
 */
export interface Burst {
  firstBytesPerSecond: number;
  lateBytesPerSecond: number;
}

/** The end of a shorter transfer cannot be told from its beginning. */
const LEAST_MS = 20_000;
const FROM_MS = 1_000;
const UNTIL_MS = 6_000;
const LATE_SHARE = 0.25;

/** Returns the rates; null when the transfer was too short. `readings`: in the order in which they were taken. */
export function burstOf(readings: readonly Reading[]): Burst | null {
  const [first, last] = [readings[0], readings.at(-1)];
  if (first === undefined || last === undefined || last.atMs - first.atMs < LEAST_MS) return null;
  const lateFromMs = last.atMs - (last.atMs - first.atMs) * LATE_SHARE;
  return {
    firstBytesPerSecond: rateBetween(readings, first.atMs + FROM_MS, first.atMs + UNTIL_MS),
    lateBytesPerSecond: rateBetween(readings, lateFromMs, last.atMs),
  };
}

function rateBetween(readings: readonly Reading[], fromMs: number, untilMs: number): number {
  return ((bytesAt(readings, untilMs) - bytesAt(readings, fromMs)) * 1000) / (untilMs - fromMs);
}

/** Interpolates linearly between two readings. */
function bytesAt(readings: readonly Reading[], atMs: number): number {
  const next = readings.findIndex((reading) => reading.atMs >= atMs);
  const [before, after] = [readings[next - 1], readings[next]];
  if (after === undefined) return readings.at(-1)?.bytes ?? 0;
  if (before === undefined) return after.bytes;
  return before.bytes + ((after.bytes - before.bytes) * (atMs - before.atMs)) / (after.atMs - before.atMs);
}
