import { formatDuration } from "#protocol/units.ts";

/**
 * Whether a machine may be given back to its platform for another one. A reallocation costs a download of the image and
 * minutes of a GPU, and a fleet whose every node gives its machine back does nothing else: so there is a budget, a pause per
 * machine, and a look at the others. When most of them find the link too slow, it is the store's end. Pure.
 */
export interface GovernorLimits {
  /** Reallocations of the whole fleet in any hour. */
  perHour: number;
  /** Of the same machine: one that comes back at once was not exchanged. */
  cooldownMs: number;
  /** Nobody is reallocated while more than this share (0 to 1), and at least so many, of the nodes that probed lately were rejected. */
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
  quorumLeast: 5,
  excludeMs: 48 * HOUR_MS,
  goodForMs: 24 * HOUR_MS,
};

export interface Asked {
  now: number;
  machine: string;
  /** The last probe within `QUORUM_MS` of each node that uses the same bucket. */
  probes: readonly { isRejected: boolean }[];
  /** Granted within `BUDGET_MS`, or, of this machine, within the cooldown. */
  grants: readonly { at: number; machine: string }[];
}

export interface Judgement {
  allowed: boolean;
  /** A sentence. */
  reason: string;
}

/** The first rule that says no decides. */
export function judge(asked: Asked, limits: GovernorLimits): Judgement {
  const { now, machine, probes, grants } = asked;
  const refuse = (reason: string): Judgement => ({ allowed: false, reason });
  const rejected = probes.filter(({ isRejected }) => isRejected).length;
  if (rejected >= limits.quorumLeast && rejected > probes.length * limits.quorumShare) {
    return refuse(
      `${rejected} of the ${probes.length} nodes that probed within ${formatDuration(QUORUM_MS)} found it too slow: it is the endpoint, not the machine`,
    );
  }
  const own = grants.filter((grant) => grant.machine === machine && now - grant.at < limits.cooldownMs);
  if (own.length > 0) {
    return refuse(`this machine was given back less than ${formatDuration(limits.cooldownMs)} ago and is here again`);
  }
  const spent = grants.filter(({ at }) => now - at < BUDGET_MS).length;
  if (spent >= limits.perHour) {
    return refuse(
      limits.perHour === 0
        ? "this hub reallocates nobody"
        : `the fleet's budget of ${limits.perHour} reallocations an hour is used up`,
    );
  }
  return { allowed: true, reason: `reallocation ${spent + 1} of ${limits.perHour} in this hour` };
}
