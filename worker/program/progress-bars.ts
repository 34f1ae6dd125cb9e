import { StringDecoder } from "node:string_decoder";

/**
 * Reads the step of a training program from the progress bar that it prints (tqdm, the default of transformers' Trainer). A
 * bar counts only after a checkpoint has confirmed it: the bar passed the checkpoint's step, never went back, and its total
 * is not below that step. Bars of data sets and evaluations restart, or do not pass the step one by one.
 */
export interface ProgressBars {
  add(chunk: Buffer): void;
  /** Tells that a checkpoint of this step was written since the start of the program. */
  confirm(step: number): void;
  /** Returns the step of the confirmed bar; null without one. */
  step(): number | null;
}

/** `39/130 [00:07<00:12`: https://tqdm.github.io/docs/tqdm/ (`bar_format`). */
const BAR = /(\d{1,12})\/(\d{1,12}) \[\d[\d:]*<[\d:?]+/g;
/** Characters to keep between chunks, longer than any bar. */
const MOST_HELD = 256;
const MOST_BARS = 16;
const MOST_VALUES = 512;
/** tqdm redraws at most ten times a second and may skip the exact step, so a value this near above it confirms the bar. */
const NEAR_STEPS = 3;
const NEAR_SHARE = 0.05;

interface Bar {
  /** Values shown, lowest first. */
  values: number[];
  hasGoneBack: boolean;
  isConfirmed: boolean;
}

export function createProgressBars(): ProgressBars {
  const decoder = new StringDecoder("utf8");
  /** Bars by their totals. */
  const bars = new Map<number, Bar>();
  let held = "";
  const show = (total: number, value: number) => {
    const bar = bars.get(total) ?? { values: [], hasGoneBack: false, isConfirmed: false };
    if (!bars.has(total) && bars.size >= MOST_BARS) return;
    bars.set(total, bar);
    const last = bar.values.at(-1);
    if (last !== undefined && value < last) bar.hasGoneBack = true;
    if (last === undefined || value > last) bar.values.push(value);
    if (bar.values.length > MOST_VALUES) bar.values.shift();
  };
  return {
    add: (chunk) => {
      held += decoder.write(chunk);
      let read = 0;
      for (const match of held.matchAll(BAR)) {
        show(Number(match[2]), Number(match[1]));
        read = match.index + match[0].length;
      }
      held = held.slice(Math.max(read, held.length - MOST_HELD));
    },
    confirm: (step) => {
      for (const [total, bar] of bars) {
        const near = Math.max(NEAR_STEPS, step * NEAR_SHARE);
        const passed = bar.values.some((value) => value >= step && value <= step + near);
        bar.isConfirmed = passed && total >= step;
      }
    },
    step: () => {
      const confirmed = [...bars].filter(([, bar]) => bar.isConfirmed && !bar.hasGoneBack);
      const [longest] = confirmed.toSorted(([a], [b]) => b - a);
      return longest?.[1].values.at(-1) ?? null;
    },
  };
}
