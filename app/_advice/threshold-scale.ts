/** Maps slider positions to thresholds and back. */

const MBIT = 125_000;
const PER_TENFOLD = 20;
const PLACES = 60;

/** Number of positions for rates from 1 to 1,000 Mbit/s, 20 per factor of ten. Position 0 sets no threshold. */
export const RATE_PLACES = PLACES + 1;
export const rateAt = (place: number): number | null =>
  place <= 0 ? null : Number((10 ** ((place - 1) / PER_TENFOLD)).toPrecision(2)) * MBIT;

/** Returns the position nearest to a rate in bytes per second. */
export function placeOfRate(bytesPerSecond: number | null): number {
  if (bytesPerSecond === null) return 0;
  const place = 1 + Math.round(Math.log10(Math.max(1, bytesPerSecond / MBIT)) * PER_TENFOLD);
  return Math.min(RATE_PLACES, Math.max(1, place));
}

const RTT_STEP_MS = 10;
/** Number of positions for round trips from 10 to 600 ms. The last position sets no limit. */
export const RTT_PLACES = 61;
export const rttAt = (place: number): number | null => (place >= RTT_PLACES ? null : Math.max(1, place) * RTT_STEP_MS);
export const placeOfRtt = (ms: number | null): number =>
  ms === null ? RTT_PLACES : Math.min(RTT_PLACES - 1, Math.max(1, Math.round(ms / RTT_STEP_MS)));

/** Counts the values per position from `first` to `last`; nulls are left out. */
export function countPlaces(
  values: readonly (number | null)[],
  { placeOf, first, last }: { placeOf: (value: number) => number; first: number; last: number },
): number[] {
  const counts = Array.from({ length: last - first + 1 }, () => 0);
  for (const value of values) {
    if (value === null) continue;
    const place = Math.min(last, Math.max(first, placeOf(value)));
    counts[place - first] = (counts[place - first] ?? 0) + 1;
  }
  return counts;
}
