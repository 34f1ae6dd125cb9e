import type { KeptReason } from "#protocol/wire/upkeep.ts";
import { DEFAULT_LIFETIME_MS } from "#storage/signing/signing.ts";

/**
 * Decides whether an orphan may be deleted. Pure. An object that no manifest names is deleted when all of this holds:
 *
 * 1. the database knows its run, in this bucket, and knows of no later claim than its own;
 * 2. its epoch is lower than the run's current one, and ended longer ago than any signature lives, plus a day;
 * 3. the object itself is older than that, by the store's clock;
 * 4. its attempt has no manifest, neither in the bucket nor in the database, and belongs to no checkpoint that is complete,
 *   in the trash, or being uploaded in the current epoch.
 *
 * A slow node, a wrong clock or a late listing therefore deletes nothing on its own.
 */

export const OLD_ENOUGH_MS = DEFAULT_LIFETIME_MS + 86_400_000;

export interface RunFacts {
  /** The latest epoch in the database. */
  currentEpoch: number;
  /** The highest epoch that the bucket names. */
  highestInBucket: number;
  /** When each epoch of the database was claimed, epoch ms by the hub's clock. */
  claimedAt: ReadonlyMap<number, number>;
}

export interface OrphanFacts {
  epoch: number;
  /** Epoch ms by the store's clock; 0 when the store does not say. */
  modifiedAt: number;
  /** Whether a manifest in the bucket, or a checkpoint in the database that still needs its objects, belongs to the attempt. */
  isNamed: boolean;
}

/** Returns when `epoch` ended because a later one was claimed, epoch ms; null while it is open or when no claim is known. */
function overSince(run: RunFacts, epoch: number): number | null {
  let since: number | null = null;
  for (const [later, at] of run.claimedAt) {
    if (later > epoch) since = since === null ? at : Math.min(since, at);
  }
  return since;
}

/**
 * Returns why an orphan stays; null when nothing needs it. `run` is null when the database does not know the run in this
 * bucket.
 */
export function whyKept(run: RunFacts | null, leftover: OrphanFacts, now: number): KeptReason | null {
  if (run === null || run.highestInBucket > run.currentEpoch) return "unknown";
  if (!run.claimedAt.has(leftover.epoch)) return "unknown";
  if (leftover.isNamed) return "live";
  if (leftover.epoch >= run.currentEpoch) return "open-epoch";
  const since = overSince(run, leftover.epoch);
  if (since === null) return "open-epoch";
  if (now - since <= OLD_ENOUGH_MS || leftover.modifiedAt === 0 || now - leftover.modifiedAt <= OLD_ENOUGH_MS) {
    return "young";
  }
  return null;
}

/** Returns whether an object left by a probe may be deleted. It belongs to no run, so its age alone decides (epoch ms). */
export const isOldProbe = (modifiedAt: number, now: number): boolean =>
  modifiedAt !== 0 && now - modifiedAt > OLD_ENOUGH_MS;
