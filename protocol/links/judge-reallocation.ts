import { formatDuration } from "../base/units.ts";

/**
 * Whether a machine may be given back to its platform for another one. A reallocation costs a download of the image and
 * minutes of a GPU, and a fleet whose every node gives its machine back does nothing else: so there is a budget, a pause per
 * machine, and a look at the others. When most of them find the link too slow, it is the store's end. A machine that was given
 * back and is still here has had all that: it goes, and costs nothing more. The hub judges by it; the page does when it asks
 * what other thresholds would have cost. Pure.
 */
export interface GovernorLimits {
  /** Reallocations of the whole fleet in any hour. */
  perHour: number;
  /** Of the same machine: one that comes back at once was not exchanged. */
  cooldownMs: number;
  /** Nobody is reallocated while more than this share (0 to 1), and at least so many, of the machines that probed lately were rejected. */
  quorumShare: number;
  quorumLeast: number;
  /** How long a machine that was given back is remembered as bad. */
  excludeMs: number;
  /** How long one that was accepted need not be probed again. */
  goodForMs: number;
}

const MINUTE_MS = 60_000;
const HOUR_MS = 60 * MINUTE_MS;
export const BUDGET_MS = HOUR_MS;
export const QUORUM_MS = 10 * MINUTE_MS;

/** From an environment that sets nothing. */
export const DEFAULT_LIMITS: GovernorLimits = {
  perHour: 10,
  cooldownMs: 5 * MINUTE_MS,
  quorumShare: 0.5,
  // Two machines that both find it too slow are a small fleet's whole; one alone is a bad machine.
  quorumLeast: 2,
  excludeMs: 48 * HOUR_MS,
  goodForMs: 24 * HOUR_MS,
};

export interface Asked {
  now: number;
  machine: string;
  /** How many machines that use the same bucket probed within `QUORUM_MS`, and how many of them were rejected the last time. */
  probed: { machines: number; rejected: number };
  /** Granted within `BUDGET_MS`, or, of this machine, within the cooldown. */
  grants: readonly { at: number; machine: string }[];
  /** When this machine was given back last; null: never, or longer ago than `excludeMs`. */
  givenBackAt: number | null;
}

/** What stands against it: most machines find the bucket slow, the machine was just given back, the hour's budget is used up. */
export type Refusal = "quorum" | "cooldown" | "budget";

export interface Judgement {
  allowed: boolean;
  /** A sentence. */
  reason: string;
  /** It may go because it has been given back already. */
  isHereAgain: boolean;
}

const spentOf = ({ grants, now }: Asked): number => grants.filter(({ at }) => now - at < BUDGET_MS).length;

const isHereAgain = ({ now, givenBackAt }: Asked, { excludeMs }: GovernorLimits): boolean =>
  givenBackAt !== null && now - givenBackAt < excludeMs;

/** The first rule that says no decides; null: it may go. */
export function refusalOf(asked: Asked, limits: GovernorLimits): Refusal | null {
  const { now, machine, probed, grants } = asked;
  // It may go already: the platform has not exchanged it, and is asked again.
  if (isHereAgain(asked, limits)) return null;
  if (probed.rejected >= limits.quorumLeast && probed.rejected > probed.machines * limits.quorumShare) return "quorum";
  if (grants.some((grant) => grant.machine === machine && now - grant.at < limits.cooldownMs)) return "cooldown";
  return spentOf(asked) >= limits.perHour ? "budget" : null;
}

/** With the words for it. */
export function judge(asked: Asked, limits: GovernorLimits): Judgement {
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

function whyNot(refusal: Refusal, { probed }: Asked, limits: GovernorLimits): string {
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
