import type { BenchRow, BenchState, TurnState } from "#protocol/benchmarks/views.ts";
import type { BenchSummary, EngineSummary } from "#protocol/benchmarks/summarize.ts";
import { ENGINE_NAMES, type EngineName } from "#protocol/benchmarks/engines.ts";
import { formatDuration } from "#protocol/base/units.ts";
import type { Tone } from "../_ui/indicators/mark.tsx";

/** Wording and tones of benchmarks. A turn is the benchmark of one node against one bucket. */

export const BENCH_TONES: Readonly<Record<BenchState, Tone>> = { running: "moving", done: "safe", cancelled: "quiet" };
export const TURN_TONES: Readonly<Record<TurnState, Tone>> = {
  waiting: "quiet",
  running: "moving",
  done: "safe",
  failed: "lost",
  cancelled: "quiet",
};

/** Returns the share of ended turns, 0 to 1. */
export function shareDone({ turns }: Pick<BenchRow, "turns">): number {
  const ended = turns.done + turns.failed + turns.cancelled;
  const all = ended + turns.waiting + turns.running;
  return all === 0 ? 1 : ended / all;
}

/** Formats a duration, with milliseconds below a second, as for loading a library. */
export const spanWords = (ms: number): string => (ms < 1_000 ? `${Math.round(ms)} ms` : formatDuration(ms));

/** Returns why there is no case to show. */
export const nothingWords = ({ state }: Pick<BenchRow, "state">): string =>
  state === "running" ? "No case has ended yet." : "It ended before any case did.";

export const percentWords = (share: number | null): string => (share === null ? "–" : `${(share * 100).toFixed(1)} %`);

/** Formats a round trip: `4.2 ms`, `120 ms`. */
export const rttWords = (ms: number | null): string => (ms === null ? "–" : `${ms.toFixed(ms < 10 ? 1 : 0)} ms`);

export interface EngineLine {
  engine: EngineName;
  up: EngineSummary | null;
  down: EngineSummary | null;
  cases: number;
  failed: number;
}

/** Returns upload and download results per engine, in the order of `ENGINE_NAMES`. */
export function engineLines({ engines }: Pick<BenchSummary, "engines">): EngineLine[] {
  return ENGINE_NAMES.flatMap((engine) => {
    const own = engines.filter((one) => one.engine === engine);
    if (own.length === 0) return [];
    const way = (direction: string) => own.find((one) => one.direction === direction) ?? null;
    const sum = (read: (one: EngineSummary) => number) => own.reduce((all, one) => all + read(one), 0);
    return [
      {
        engine,
        up: way("up"),
        down: way("down"),
        cases: sum(({ cases }) => cases),
        failed: sum(({ failed }) => failed),
      },
    ];
  });
}

/** Returns the relative change from `before` to `now`: `+12.5 %`. */
export function changeWords(now: number | null, before: number | null): string {
  if (now === null || before === null || before === 0) return "–";
  const change = (now / before - 1) * 100;
  return `${change < 0 ? "−" : "+"}${Math.abs(change).toFixed(1)} %`;
}
