import { clockTime, shortDay, zoneShiftMs } from "../text/times.ts";

/** Computes the scales of a chart: round ticks, and paths that break where samples are missing. */

/** Default height of a chart, in pixels. */
export const CHART_HEIGHT = 172;

/** Returns round ticks from 0 to above `largest`: 1, 2 or 5 times a power of `base` (10 for rates, 1024 for sizes). */
export function ticksFor(largest: number, base: 10 | 1024): number[] {
  if (!(largest > 0)) return [0, 1];
  let unit = 1;
  if (base === 1024) while (largest / unit >= 1024) unit *= 1024;
  const value = largest / unit;
  const power = 10 ** Math.floor(Math.log10(value));
  const step = [0.5, 1, 2, 5].map((factor) => factor * power).find((candidate) => value / candidate <= 2) ?? power * 5;
  const ticks: number[] = [];
  for (let index = 0; index * step < value + step; index++) ticks.push(index * step * unit);
  return ticks;
}

/**
 * Returns round ticks from below `low` to above `high`, in steps of 1, 2 or 5 times a power of ten. For axes that do not start
 * at 0.
 */
export function ticksBetween(low: number, high: number): number[] {
  const room = high - low || Math.abs(high) || 1;
  const power = 10 ** Math.floor(Math.log10(room));
  const step = [0.5, 1, 2, 5].map((factor) => factor * power).find((candidate) => room / candidate <= 3) ?? power * 5;
  const first = Math.floor(low / step);
  const last = Math.max(first + 1, Math.ceil(high / step));
  return Array.from({ length: last - first + 1 }, (_, index) => Number(((first + index) * step).toPrecision(12)));
}

/** Returns whole training steps between `from` and `to`, about `most` of them. */
export function stepTicks(from: number, to: number, most: number): number[] {
  const room = Math.max(1, to - from);
  const power = 10 ** Math.floor(Math.log10(room / most));
  const step = Math.max(1, [1, 2, 5, 10].map((factor) => factor * power).find((one) => room / one <= most) ?? 1);
  const ticks: number[] = [];
  for (let at = Math.ceil(from / step) * step; at <= to; at += step) ticks.push(at);
  return ticks;
}

const MINUTE = 60_000;
const STEPS = [1, 2, 5, 10, 15, 30, 60, 120, 180, 360, 720, 1440, 2880].map((minutes) => minutes * MINUTE);

/** Returns the moment at which local clocks show `clock` (ms, as if it were UTC); of a skipped hour, the moment of the change. */
function momentAt(clock: number): number {
  const guess = clock + zoneShiftMs(clock);
  const at = clock + zoneShiftMs(guess);
  // West of Greenwich a skipped midnight would come out an hour before the change, on the day before.
  return at - zoneShiftMs(at) === clock ? at : Math.max(guess, at);
}

/**
 * Lists whole times of the chosen zone between `from` and `to`, at most `most` of them. Each tick uses the zone's offset at
 * its own time, so midnight stays midnight across a daylight-saving change.
 */
export function timeTicks(from: number, to: number, most: number): number[] {
  const step = STEPS.find((candidate) => (to - from) / candidate <= most) ?? 7 * 1440 * MINUTE;
  const ticks: number[] = [];
  for (let clock = Math.floor((from - zoneShiftMs(from)) / step) * step; ; clock += step) {
    const at = momentAt(clock);
    if (!(at <= to)) return ticks;
    // A local hour that daylight saving skips maps onto the same moment as the hour after it.
    if (at >= from && at > (ticks.at(-1) ?? Number.NEGATIVE_INFINITY)) ticks.push(at);
  }
}

/** Returns the label of a tick: the time, and the day where a chart spans several. */
export function tickWords(at: number, spanMs: number): string {
  const time = clockTime(at);
  const day = spanMs > 1440 * MINUTE || (spanMs > 720 * MINUTE && time === "00:00");
  return day && (time === "00:00" || spanMs > 4 * 1440 * MINUTE) ? shortDay(at) : time;
}

export interface Point {
  x: number;
  y: number;
}

/** Returns one SVG path through the points. A gap wider than `gap` breaks the line instead of inventing values. */
export function brokenPath(points: readonly Point[], gap: number): string {
  return points
    .map((point, index) => {
      const before = points[index - 1];
      const starts = before === undefined || point.x - before.x > gap;
      return `${starts ? "M" : "L"}${point.x.toFixed(1)} ${point.y.toFixed(1)}`;
    })
    .join("");
}

/** Returns the points with a gap on both sides. No line reaches them, so a chart draws them as dots. */
export const alonePoints = (points: readonly Point[], gap: number): Point[] =>
  points.filter((point, index) => {
    const before = points[index - 1];
    const after = points[index + 1];
    return (before === undefined || point.x - before.x > gap) && (after === undefined || after.x - point.x > gap);
  });

/** Returns the same path as closed areas down to `floor`. */
export function brokenArea(points: readonly Point[], gap: number, floor: number): string {
  const pieces: Point[][] = [];
  for (const point of points) {
    const piece = pieces.at(-1);
    const last = piece?.at(-1);
    if (piece === undefined || last === undefined || point.x - last.x > gap) pieces.push([point]);
    else piece.push(point);
  }
  return pieces
    .map((piece) => {
      const first = piece[0];
      const last = piece.at(-1);
      if (first === undefined || last === undefined) return "";
      const line = piece.map((point) => `L${point.x.toFixed(1)} ${point.y.toFixed(1)}`).join("");
      return `M${first.x.toFixed(1)} ${floor}${line}L${last.x.toFixed(1)} ${floor}Z`;
    })
    .join("");
}

/** Returns the index of the value nearest to `wanted` in an ascending list; -1 when the list is empty. */
export function nearestIndex(ascending: readonly number[], wanted: number): number {
  let low = 0;
  let high = ascending.length - 1;
  while (low < high) {
    const middle = (low + high) >> 1;
    if ((ascending[middle] ?? 0) < wanted) low = middle + 1;
    else high = middle;
  }
  const before = ascending[low - 1];
  const here = ascending[low];
  if (here === undefined) return -1;
  return before !== undefined && wanted - before < here - wanted ? low - 1 : low;
}
