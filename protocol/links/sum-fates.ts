import type { Fate, Start } from "./replay-thresholds.ts";

/** What a replay comes to: how many would have been taken, what would have remained, and what exchanging would have cost. */

export interface ReplaySum {
  starts: number;
  accepted: number;
  warned: number;
  /** Exchanged, kept or ended. */
  rejected: number;
  givenBack: number;
  /** Rejected, and not exchanged because the governor said no. */
  kept: number;
  ended: number;
  /** Starts on a machine that was left out by then: they would have come to other machines, of which nothing is known. */
  away: number;
  /** Most machines left out at the same time. */
  mostAway: number;
  /** Of what goes on: mean bytes per second, null where nothing was measured. */
  meanUp: number | null;
  meanDown: number | null;
  /** Time of nodes that would have been spent on starting again. */
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

/** `startMs`: how long a node takes until it works again after it was exchanged. */
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

/** Each is left out from when it was given back for so long: the most that are in one such stretch. */
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
