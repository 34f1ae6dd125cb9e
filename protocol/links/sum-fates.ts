import type { Fate, Start } from "./replay-thresholds.ts";

/** Totals of a replay: links taken, rates that remain, and the cost of exchanging machines. */

export interface ReplaySum {
  starts: number;
  accepted: number;
  warned: number;
  /** Exchanged, kept or ended. */
  rejected: number;
  givenBack: number;
  /** Rejected, but not exchanged because a limit on reallocations refused. */
  kept: number;
  ended: number;
  /** Starts on an excluded machine: another machine, of unknown speed, would have started instead. */
  away: number;
  /** Largest number of machines excluded at the same time. */
  mostAway: number;
  /** Mean bytes per second of the links that stay in use; null when nothing was measured. */
  meanUp: number | null;
  meanDown: number | null;
  /** Time that nodes would have spent on starting again. */
  startMs: number;
}

const STAYS: Record<Fate, boolean> = {
  accept: true,
  warn: true,
  known: true,
  quorum: true,
  cooldown: true,
  budget: true,
  "given-back": false,
  ends: false,
  away: false,
};

/** Sums up a replay. `startMs`: time from an exchange until the node works again. */
export function sumFates(
  starts: readonly Start[],
  fates: readonly Fate[],
  about: { startMs: number; excludeMs: number },
): ReplaySum {
  const counts = new Map<Fate, number>();
  const [up, down] = [createMean(), createMean()];
  for (const [index, fate] of fates.entries()) {
    counts.set(fate, (counts.get(fate) ?? 0) + 1);
    const link = STAYS[fate] ? starts[index]?.link : undefined;
    up.add(link?.up ?? null);
    down.add(link?.down ?? null);
  }
  const count = (fate: Fate): number => counts.get(fate) ?? 0;
  const kept = count("quorum") + count("cooldown") + count("budget");
  const [givenBack, ended] = [count("given-back"), count("ends")];
  return {
    starts: starts.length,
    accepted: count("accept") + count("known"),
    warned: count("warn"),
    rejected: kept + givenBack + ended,
    givenBack,
    kept,
    ended,
    away: count("away"),
    mostAway: mostAwayOf(starts, fates, about.excludeMs),
    meanUp: up.read(),
    meanDown: down.read(),
    startMs: givenBack * about.startMs,
  };
}

function createMean(): { add(value: number | null): void; read(): number | null } {
  let [sum, count] = [0, 0];
  return {
    add: (value) => {
      if (value === null) return;
      sum += value;
      count++;
    },
    read: () => (count === 0 ? null : sum / count),
  };
}

/** Returns the largest number of machines excluded at once: each is excluded for `excludeMs` after it was given back. */
function mostAwayOf(starts: readonly Start[], fates: readonly Fate[], excludeMs: number): number {
  const times = starts.filter((_, index) => fates[index] === "given-back").map(({ at }) => at);
  let most = 0;
  let oldest = 0;
  for (const [index, at] of times.entries()) {
    while (at - (times[oldest] ?? at) >= excludeMs) oldest++;
    most = Math.max(most, index - oldest + 1);
  }
  return most;
}
