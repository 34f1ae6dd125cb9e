/** The deletion cost of an instance: a provider that removes instances by itself removes the cheapest first. */

export const MOST_DELETION_COST = 100_000;
/** An instance that works on a job goes after the idle ones, also while nothing would be lost. */
const LEASE_COST = 1_000;
const UNSAFE_COST = 5_000;
const COST_A_SECOND = 10;

export interface InstanceStake {
  /** Number of jobs that its nodes hold a lease of. */
  leases: number;
  /** Captured checkpoints that are not safe. */
  checkpoints: number;
  /** Training time that would be repeated, ms. */
  lossMs: number;
  /** Leases of workers that move their data themselves: the hub cannot know what of it is safe. */
  unverified: number;
}

export const NOTHING_AT_STAKE: InstanceStake = { leases: 0, checkpoints: 0, lossMs: 0, unverified: 0 };

/** Returns whether work would be lost with the instance, or may be. */
export const hasUnsafe = ({ checkpoints, lossMs, unverified }: InstanceStake): boolean =>
  checkpoints > 0 || lossMs > 0 || unverified > 0;
/** Returns whether the instance may be removed without a loss and without an interruption. */
export const isFree = (stake: InstanceStake): boolean => stake.leases === 0 && !hasUnsafe(stake);

/** Returns the cost, 0 to 100,000: 0 for an idle instance whose work is safe, more for each second that would be lost. Pure. */
export function deletionCostOf({ leases, checkpoints, lossMs, unverified }: InstanceStake): number {
  const cost =
    (leases > 0 ? LEASE_COST : 0) +
    (checkpoints + unverified > 0 ? UNSAFE_COST : 0) +
    Math.ceil(Math.max(0, lossMs) / 1_000) * COST_A_SECOND;
  return Math.min(MOST_DELETION_COST, cost);
}

const NOTABLE_SHARE = 0.2;

/**
 * Returns whether the provider has to be told a cost. A worker tells its own cost too, by what it has not uploaded: that one
 * is raised when it is too low, and lowered only when nothing is at stake any more. Pure.
 */
export function isCostStale(shown: number | null, wanted: number): boolean {
  if (shown === null) return wanted > 0;
  if (wanted === 0) return shown !== 0;
  if (shown < wanted && wanted === MOST_DELETION_COST) return true;
  return shown < wanted * (1 - NOTABLE_SHARE);
}
