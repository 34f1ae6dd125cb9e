import type { CurvePoint } from "#protocol/checkpoint/inspect.ts";

/** Scales the values of a training log over its steps for drawing. */

export const CURVES = [
  { id: "loss", label: "Loss", keys: ["loss", "evalLoss"] },
  { id: "rate", label: "Learning rate", keys: ["learningRate"] },
  { id: "norm", label: "Gradient norm", keys: ["gradNorm"] },
] as const;
export type CurveKey = (typeof CURVES)[number]["keys"][number];
export const CURVE_WORDS: Record<CurveKey, string> = {
  loss: "loss",
  evalLoss: "evaluation",
  learningRate: "learning rate",
  gradNorm: "gradient norm",
};

/** Formats a value with four significant figures: `1.412`, `5e-5`. */
export const valueWords = (value: number | null): string =>
  value === null
    ? "–"
    : value !== 0 && (Math.abs(value) < 0.001 || Math.abs(value) >= 100_000)
      ? value.toExponential(2)
      : String(Number(value.toPrecision(4)));

export interface Range {
  low: number;
  high: number;
}

/** Returns the lowest and highest value; null without values. */
export function rangeOf(values: readonly (number | null)[]): Range | null {
  let range: Range | null = null;
  for (const value of values) {
    if (value === null || !Number.isFinite(value)) continue;
    range =
      range === null
        ? { low: value, high: value }
        : { low: Math.min(range.low, value), high: Math.max(range.high, value) };
  }
  return range;
}

/** Returns three to six round numbers within a range. */
export function ticksWithin({ low, high }: Range): number[] {
  if (!(high > low)) return [low];
  const power = 10 ** Math.floor(Math.log10((high - low) / 4));
  const step = [1, 2, 5, 10].map((factor) => factor * power).find((size) => (high - low) / size <= 6) ?? 10 * power;
  const ticks: number[] = [];
  for (let index = Math.ceil(low / step); index * step <= high + step * 1e-9; index++)
    ticks.push(Number((index * step).toPrecision(12)));
  return ticks;
}

/** Returns the points that have a value for `key`. The line continues across points without one. */
export const pointsWith = (points: readonly CurvePoint[], key: CurveKey): { step: number; value: number }[] =>
  points.flatMap((point) => {
    const value = point[key];
    return value === null ? [] : [{ step: point.step, value }];
  });
