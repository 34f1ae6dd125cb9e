import { shownStep, stepWords } from "#protocol/checkpoint/step-words.ts";
import { stepsOf, type RunTimeline, type TimelineLane } from "#protocol/checkpoint/run-timeline.ts";
import { formatCount, formatDuration } from "#protocol/base/units.ts";
import type { Tone } from "../_ui/indicators/mark.tsx";

/**
 * Lays out all steps of a run as bars, one lane per epoch. Each pixel column shows the worst state of its steps; equal
 * neighbors merge. A distance between steps far above the usual one is a gap. Lost steps start at the step from which the next
 * epoch continued.
 */

interface Bar {
  x: number;
  width: number;
  tone: Exclude<Tone, "quiet">;
}

interface Gap {
  x: number;
  width: number;
  words: string;
}

export interface HistoryLane {
  epoch: number;
  /** Label, such as `epoch 5 · gpu-31`. */
  words: string;
  x: number;
  bars: Bar[];
  gaps: Gap[];
  /** Steps of this epoch that had to be repeated; null when none were. */
  lost: Gap | null;
  /** Text for screen readers. */
  summary: string;
}

export interface RunHistory {
  lanes: HistoryLane[];
  first: number;
  last: number;
  /** Number of older epochs without a lane. */
  omitted: number;
}

interface Input {
  timeline: RunTimeline;
  width: number;
  /** Most lanes; the newest ones are shown. */
  most: number;
}

const COLUMN = 2;
/** A distance of this many times the median is a gap. */
const GAP = 3;
const WORST: readonly Bar["tone"][] = ["safe", "moving", "risk", "lost"];

function usualDistance({ steps }: TimelineLane): number {
  const sorted = steps.slice(1).sort((a, b) => a - b);
  return sorted[Math.floor(sorted.length / 2)] ?? 0;
}

export function historyLanes({ timeline, width, most }: Input): RunHistory {
  const shown = timeline.lanes.slice(-most);
  const bySteps = shown.map((lane) => ({ lane, steps: stepsOf(lane) }));
  const all = bySteps.flatMap(({ steps }) => [steps[0] ?? 0, steps.at(-1) ?? 0]);
  const [first, last] = all.length === 0 ? [0, 0] : [Math.min(...all), Math.max(...all)];
  const x = (step: number): number => ((step - first) / Math.max(1, last - first)) * Math.max(1, width - COLUMN);
  const lanes = bySteps.map(({ lane, steps }, index): HistoryLane => {
    const next = shown[index + 1] ?? null;
    // Steps after the one from which the next epoch continued were repeated.
    const wentOnFrom = next?.parent?.epoch === lane.epoch ? next.parent.step : null;
    const isOver = next !== null;
    const tones = steps.map((step, at) =>
      toneOf(lane.states[at], isOver && (wentOnFrom === null || step > wentOnFrom)),
    );
    const end = steps.at(-1) ?? first;
    const lostFrom = wentOnFrom !== null && end > wentOnFrom ? wentOnFrom : null;
    const gaps = gapsOf(lane, steps, x);
    const words = lane.epoch === 0 ? "adopted" : `epoch ${lane.epoch} · ${lane.nodeName}`;
    const lostWords =
      lane.lost === null ? null : `lost ${formatCount(lane.lost.steps)} steps, ${formatDuration(lane.lost.ms)}`;
    const counts = WORST.map((tone) => tones.filter((one) => one === tone).length);
    return {
      epoch: lane.epoch,
      words,
      x: x(steps[0] ?? first),
      bars: barsOf(steps, tones, x),
      gaps,
      lost:
        lostFrom === null && lostWords === null
          ? null
          : {
              x: x(lostFrom ?? end),
              width: Math.max(COLUMN * 3, x(end) - x(lostFrom ?? end)),
              words: lostWords ?? "written again by the next epoch",
            },
      summary: [
        `${words}: steps ${shownStep(steps[0] ?? 0)} to ${shownStep(end)}`,
        ...WORST.flatMap((tone, at) => (counts[at] === 0 ? [] : [`${formatCount(counts[at] ?? 0)} ${WORDS[tone]}`])),
        ...(gaps.length === 0 ? [] : [`${gaps.length} ${gaps.length === 1 ? "gap" : "gaps"}`]),
        ...(lostWords === null ? [] : [lostWords]),
      ].join(", "),
    };
  });
  return { lanes, first, last, omitted: timeline.lanes.length - shown.length };
}

const WORDS: Readonly<Record<Bar["tone"], string>> = {
  safe: "complete",
  moving: "uploading",
  risk: "incomplete",
  lost: "lost",
};

function toneOf(letter: string | undefined, isBeyond: boolean): Bar["tone"] {
  if (letter === "c") return "safe";
  if (isBeyond) return "lost";
  return letter === "u" ? "moving" : "risk";
}

function barsOf(steps: readonly number[], tones: readonly Bar["tone"][], x: (step: number) => number): Bar[] {
  const columns = new Map<number, Bar["tone"]>();
  for (const [at, step] of steps.entries()) {
    const column = Math.floor(x(step) / COLUMN);
    const tone = tones[at] ?? "safe";
    const known = columns.get(column);
    if (known === undefined || WORST.indexOf(tone) > WORST.indexOf(known)) columns.set(column, tone);
  }
  const bars: Bar[] = [];
  for (const [column, tone] of columns) {
    const before = bars.at(-1);
    if (before !== undefined && before.tone === tone && before.x + before.width === column * COLUMN)
      before.width += COLUMN;
    else bars.push({ x: column * COLUMN, width: COLUMN, tone });
  }
  return bars;
}

function gapsOf(lane: TimelineLane, steps: readonly number[], x: (step: number) => number): Gap[] {
  const usual = usualDistance(lane);
  return steps.flatMap((step, at) => {
    const before = steps[at - 1];
    if (before === undefined || usual === 0 || step - before <= GAP * usual) return [];
    return [
      {
        x: x(before) + COLUMN,
        width: Math.max(0, x(step) - x(before) - COLUMN),
        words: `nothing between ${stepWords(before)} and ${shownStep(step)}`,
      },
    ];
  });
}
