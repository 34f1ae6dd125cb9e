import { formatDuration } from "../base/units.ts";

/**
 * Decides whether a machine may be given back to its platform for another one. A reallocation costs an image download and
 * minutes of a GPU, and a fleet that keeps exchanging machines does nothing else. Hence a budget per hour, a cooldown per
 * machine, and a quorum: when most machines find the link too slow, the store is at fault. A machine that was given back and
 * is still here has passed these rules, so it goes at no further cost. The hub decides by this; the page uses it to replay
 * other thresholds. Pure.
 */
export interface ReallocationLimits {
  /** Largest number of reallocations of the whole fleet within an hour. */
  perHour: number;
  /** Shortest time between two reallocations of one machine: a machine that returns at once was not exchanged. */
  cooldownMs: number;
  /** No reallocation while more than this share (0 to 1), and at least `quorumLeast`, of the recently probed were rejected. */
  quorumShare: number;
  quorumLeast: number;
  /** How long a machine that was given back counts as bad. */
  excludeMs: number;
  /** How long a machine that was accepted needs no new probe. */
  goodForMs: number;
}

const MINUTE_MS = 60_000;
const HOUR_MS = 60 * MINUTE_MS;
export const BUDGET_MS = HOUR_MS;
export const QUORUM_MS = 10 * MINUTE_MS;

/** Limits when the environment sets none. */
export const DEFAULT_LIMITS: ReallocationLimits = {
  perHour: 10,
  cooldownMs: 5 * MINUTE_MS,
  quorumShare: 0.5,
  // In a fleet of two, both machines finding the link too slow is a quorum; one alone is a bad machine.
  quorumLeast: 2,
  excludeMs: 48 * HOUR_MS,
  goodForMs: 24 * HOUR_MS,
};

export interface Asked {
  now: number;
  machine: string;
  /** Machines with the same bucket that probed within `QUORUM_MS`, and how many of them were rejected at their last probe. */
  probed: { machines: number; rejected: number };
  /** Reallocations granted within `BUDGET_MS`, and those of this machine within the cooldown. */
  grants: readonly { at: number; machine: string }[];
  /** Time at which this machine was last given back; null: never, or longer ago than `excludeMs`. */
  givenBackAt: number | null;
}

/** Reason of a refusal: most machines find the bucket slow, this one was just given back, or the hourly budget is used up. */
export type Refusal = "quorum" | "cooldown" | "budget";

export interface Judgement {
  allowed: boolean;
  /** One sentence. */
  reason: string;
  /** Allowed because the machine was given back before and is still here. */
  isHereAgain: boolean;
}

const spentOf = ({ grants, now }: Asked): number => grants.filter(({ at }) => now - at < BUDGET_MS).length;

const isHereAgain = ({ now, givenBackAt }: Asked, { excludeMs }: ReallocationLimits): boolean =>
  givenBackAt !== null && now - givenBackAt < excludeMs;

/** Returns the first rule that refuses; null when the machine may go. */
export function refusalOf(asked: Asked, limits: ReallocationLimits): Refusal | null {
  const { now, machine, probed, grants } = asked;
  // It was allowed to go before: the platform has not exchanged it and is asked again.
  if (isHereAgain(asked, limits)) return null;
  if (probed.rejected >= limits.quorumLeast && probed.rejected > probed.machines * limits.quorumShare) return "quorum";
  if (grants.some((grant) => grant.machine === machine && now - grant.at < limits.cooldownMs)) return "cooldown";
  return spentOf(asked) >= limits.perHour ? "budget" : null;
}

/** Returns the decision with its reason in words. */
export function judge(asked: Asked, limits: ReallocationLimits): Judgement {
  const refusal = refusalOf(asked, limits);
  if (refusal !== null) return { allowed: false, reason: whyNot(refusal, asked, limits), isHereAgain: false };
  const { now, givenBackAt } = asked;
  if (givenBackAt !== null && isHereAgain(asked, limits)) {
    const reason = `this machine was given back ${formatDuration(now - givenBackAt)} ago and is here again`;
    return { allowed: true, reason, isHereAgain: true };
  }
  const reason = `reallocation ${spentOf(asked) + 1} of ${limits.perHour} in this hour`;
  return { allowed: true, reason, isHereAgain: false };
}

function whyNot(refusal: Refusal, { probed }: Asked, limits: ReallocationLimits): string {
  switch (refusal) {
    case "quorum":
      return `${probed.rejected} of the ${probed.machines} machines that probed within ${formatDuration(QUORUM_MS)} found it too slow: it is the endpoint, not the machine`;
    case "cooldown":
      return `this machine was given back less than ${formatDuration(limits.cooldownMs)} ago and is here again`;
    case "budget":
      return limits.perHour === 0
        ? "this hub reallocates nobody"
        : `the fleet's budget of ${limits.perHour} reallocations an hour is used up`;
  }
}
