import { decide, outcomeOf, type Verdict } from "./decide-link.ts";
import type { ReallocationLimits } from "./judge-reallocation.ts";
import type { LinkThresholds, MachineMemory, ProbeOutcome } from "./probe.ts";

/**
 * Remembers machines by bucket: bad when the machine was given back recently (whatever came before or after), good when its
 * last probe was accepted. A rejection without a reallocation is not held against the machine. Pure.
 */

interface Remembered {
  at: number;
  up: number | null;
  down: number | null;
  rttMs: number | null;
}

/** The last time it was given back, and its last probe; null: none. Times in epoch ms. */
export interface MachinePast {
  granted: Remembered | null;
  last: (Remembered & { outcome: ProbeOutcome }) | null;
}

export function rememberedOf(
  { granted, last }: MachinePast,
  about: { limits: Pick<ReallocationLimits, "excludeMs" | "goodForMs">; now: number },
): MachineMemory | null {
  const { limits, now } = about;
  if (granted !== null && now - granted.at < limits.excludeMs) {
    return { verdict: "bad", until: granted.at + limits.excludeMs, ...granted };
  }
  if (last === null || last.outcome !== "accept" || now - last.at >= limits.goodForMs) return null;
  const { at, up, down, rttMs } = last;
  return { verdict: "good", at, until: at + limits.goodForMs, up, down, rttMs };
}

/** Returns the remembered outcome if its rates give the same outcome under the present thresholds. Null: measure again. */
export function recallOutcome(machine: MachineMemory, thresholds: LinkThresholds): "accept" | "reject" | null {
  const { up, down, rttMs = null, verdict } = machine;
  const isAskedButUnknown = (asked: number | null, known: number | null) => asked !== null && known === null;
  if (isAskedButUnknown(thresholds.up, up) || isAskedButUnknown(thresholds.down, down)) return null;
  if (isAskedButUnknown(thresholds.rttMs, rttMs)) return null;
  const link = { up: up ?? 0, down: down ?? 0, isUpSteady: true, isDownSteady: true, rttMs, clockSkewMs: null };
  const expected = verdict === "good" ? "accept" : "reject";
  return outcomeOf(link, thresholds) === expected ? expected : null;
}

/** Does the same and returns the reasons in words. */
export function recall(machine: MachineMemory | null, thresholds: LinkThresholds): Verdict | null {
  if (machine === null || recallOutcome(machine, thresholds) === null) return null;
  const { up, down, rttMs = null } = machine;
  const rate = (bytesPerSecond: number | null) => ({ rate: { bytesPerSecond: bytesPerSecond ?? 0, isSteady: true } });
  return decide({ up: rate(up), down: rate(down), rttMs, clockSkewMs: null }, thresholds);
}
