import { sentenceOf, type Fault } from "#protocol/fault.ts";
import type { LinkThresholds, ProbeOutcome } from "#protocol/probe.ts";
import { formatDuration, formatRate } from "#protocol/units.ts";
import type { LinkRate } from "./box.ts";

/** What is known of one direction: its rate, or why there is none. */
export type Direction = { rate: Pick<LinkRate, "bytesPerSecond" | "isSteady"> } | { fault: Fault };

export interface Measured {
  up: Direction;
  down: Direction;
  /** The store's clock minus ours, as far as it is certain; null when no answer told the time. */
  clockSkewMs: number | null;
}

export interface Verdict {
  outcome: ProbeOutcome;
  /** One sentence. */
  reason: string;
}

/** What a rate just below the threshold may still be, measured wrongly. */
export const MARGIN = 0.1;
/** A rate that has not settled may still double; more than that nobody need wait for. */
const UNSETTLED_SHARE = 0.5;
/** Stores refuse requests dated fifteen minutes off, some fewer. */
const MOST_SKEW_MS = 60_000;
const RANK: Record<ProbeOutcome, number> = { accept: 0, warn: 1, reject: 2 };

/**
 * Whether a link will do. Only a rate that was measured, that had settled or was nowhere near, and that is below the threshold
 * by more than measuring can be wrong rejects a machine: that something could not be measured says nothing about its speed. Pure.
 */
export function decide(measured: Measured, thresholds: LinkThresholds): Verdict {
  const said = [
    ...ofDirection("up", measured.up, thresholds.up),
    ...ofDirection("down", measured.down, thresholds.down),
    ...ofClock(measured.clockSkewMs),
  ];
  const outcome = said.reduce<ProbeOutcome>((worst, { is }) => (RANK[is] > RANK[worst] ? is : worst), "accept");
  if (outcome === "accept") return { outcome, reason: "the link does what is asked of it" };
  const reasons = said.filter(({ is }) => is === outcome).map(({ why }) => why);
  return { outcome, reason: reasons.join("; ") };
}

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
  if (least === null) return [];
  const { bytesPerSecond, isSteady } = direction.rate;
  if (bytesPerSecond >= least) return [];
  const words = `${formatRate(bytesPerSecond)} ${name} where ${formatRate(least)} are asked for`;
  if (bytesPerSecond >= least * (1 - MARGIN)) return [{ is: "warn", why: `${words}, within what measuring may miss` }];
  if (!isSteady && bytesPerSecond >= least * UNSETTLED_SHARE) {
    return [{ is: "warn", why: `${words}, but the rate had not settled when the time was over` }];
  }
  return [{ is: "reject", why: words }];
}

function ofClock(skewMs: number | null): Saying[] {
  if (skewMs === null || Math.abs(skewMs) <= MOST_SKEW_MS) return [];
  const side = skewMs < 0 ? "ahead of" : "behind";
  return [{ is: "warn", why: `this machine's clock is ${formatDuration(Math.abs(skewMs))} ${side} the store's` }];
}
