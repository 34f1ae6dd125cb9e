import { sentenceOf, type Fault } from "../faults/fault.ts";
import type { LinkThresholds, ProbeOutcome } from "./probe.ts";
import { formatDuration, formatRate } from "../base/units.ts";

/**
 * Decides whether a link is fast enough. A measured value rejects a machine only if it misses the threshold by more than the
 * error of measurement. A rate that has not settled must be far below. A failed measurement says nothing about speed. The
 * worker decides by this at its start; the page and the hub use it to replay other thresholds. Pure.
 */

/** Measurement of one direction: its rate, or why there is none. */
export type Direction = { rate: { bytesPerSecond: number; isSteady: boolean } } | { fault: Fault };

export interface LinkMeasured {
  up: Direction;
  down: Direction;
  rttMs: number | null;
  /** The store's clock minus the local clock, as far as certain; null when no answer carried a time. */
  clockSkewMs: number | null;
}

/** The same as plain numbers for storage. Rates in bytes per second; null when not measured. */
export interface LinkNumbers {
  up: number | null;
  down: number | null;
  isUpSteady: boolean;
  isDownSteady: boolean;
  rttMs: number | null;
  clockSkewMs: number | null;
}

export interface Verdict {
  outcome: ProbeOutcome;
  /** One sentence or several, joined by semicolons. */
  reason: string;
}

/** Error of measurement as a share of the threshold: a value within it only warns. */
export const MARGIN = 0.1;
/** A rate that has not settled may still double, so it is rejected only below this share of the threshold. */
const UNSETTLED_SHARE = 0.5;
/** Largest clock skew without a warning. Stores refuse requests whose date is fifteen minutes off, some at less. */
const MOST_SKEW_MS = 60_000;
const OUTCOMES = ["accept", "warn", "reject"] as const satisfies readonly ProbeOutcome[];
const RANK: Record<ProbeOutcome, number> = { accept: 0, warn: 1, reject: 2 };

/** Returns the outcome and its reasons in words. */
export function decide(measured: LinkMeasured, thresholds: LinkThresholds): Verdict {
  const said = [
    ...ofDirection("up", measured.up, thresholds.up),
    ...ofDirection("down", measured.down, thresholds.down),
    ...ofRtt(measured.rttMs, thresholds.rttMs),
    ...ofClock(measured.clockSkewMs),
  ];
  const outcome = said.reduce<ProbeOutcome>((worst, { is }) => (RANK[is] > RANK[worst] ? is : worst), "accept");
  if (outcome === "accept") return { outcome, reason: "the link does what is asked of it" };
  const reasons = said.filter(({ is }) => is === outcome).map(({ why }) => why);
  return { outcome, reason: reasons.join("; ") };
}

/** Returns the same outcome as `decide` without words, fast enough for ten thousand links at once. */
export function outcomeOf(link: LinkNumbers, thresholds: LinkThresholds): ProbeOutcome {
  const worst = Math.max(
    rankOfRate(link.up, link.isUpSteady, thresholds.up),
    rankOfRate(link.down, link.isDownSteady, thresholds.down),
    rankOfRtt(link.rttMs, thresholds.rttMs),
    rankOfClock(link.clockSkewMs),
  );
  return OUTCOMES[worst] ?? "accept";
}

function rankOfRate(bytesPerSecond: number | null, isSteady: boolean, least: number | null): number {
  if (bytesPerSecond === null) return RANK.warn;
  if (least === null || bytesPerSecond >= least) return RANK.accept;
  if (bytesPerSecond >= least * (1 - MARGIN)) return RANK.warn;
  return !isSteady && bytesPerSecond >= least * UNSETTLED_SHARE ? RANK.warn : RANK.reject;
}

function rankOfRtt(rttMs: number | null, most: number | null): number {
  if (most === null) return RANK.accept;
  if (rttMs === null) return RANK.warn;
  if (rttMs <= most) return RANK.accept;
  return rttMs <= most * (1 + MARGIN) ? RANK.warn : RANK.reject;
}

const rankOfClock = (skewMs: number | null): number =>
  skewMs === null || Math.abs(skewMs) <= MOST_SKEW_MS ? RANK.accept : RANK.warn;

interface Saying {
  is: ProbeOutcome;
  why: string;
}

function ofDirection(name: "up" | "down", direction: Direction, least: number | null): Saying[] {
  if ("fault" in direction) {
    const { code, detail } = direction.fault.toData();
    const why = sentenceOf(detail === undefined ? { code } : { code, detail });
    return [{ is: "warn", why: `the rate ${name} could not be measured: ${why.replace(/\.$/, "")}` }];
  }
  const { bytesPerSecond, isSteady } = direction.rate;
  const rank = rankOfRate(bytesPerSecond, isSteady, least);
  if (least === null || rank === RANK.accept) return [];
  const words = `${formatRate(bytesPerSecond)} ${name} where ${formatRate(least)} are asked for`;
  if (rank === RANK.reject) return [{ is: "reject", why: words }];
  if (bytesPerSecond >= least * (1 - MARGIN)) return [{ is: "warn", why: `${words}, within what measuring may miss` }];
  return [{ is: "warn", why: `${words}, but the rate had not settled when the time was over` }];
}

function ofRtt(rttMs: number | null, most: number | null): Saying[] {
  const rank = rankOfRtt(rttMs, most);
  if (most === null || rank === RANK.accept) return [];
  if (rttMs === null) return [{ is: "warn", why: "the round trip could not be measured" }];
  const words = `a round trip of ${Math.round(rttMs)} ms where ${Math.round(most)} ms are allowed`;
  return rank === RANK.reject
    ? [{ is: "reject", why: words }]
    : [{ is: "warn", why: `${words}, within what measuring may miss` }];
}

function ofClock(skewMs: number | null): Saying[] {
  if (skewMs === null || rankOfClock(skewMs) === RANK.accept) return [];
  const side = skewMs < 0 ? "ahead of" : "behind";
  return [{ is: "warn", why: `this machine's clock is ${formatDuration(Math.abs(skewMs))} ${side} the store's` }];
}
