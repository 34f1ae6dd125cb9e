import type { KeptReason } from "#protocol/wire/upkeep.ts";
import { DEFAULT_LIFETIME_MS } from "#storage/signing/signing.ts";

/**
 * What may go, as a pure function. Something that no manifest names goes when all of this holds, and stays otherwise:
 *
 * 1. the database knows its run, in this bucket, and knows of no later claim than its own;
 * 2. its epoch is lower than the run's present one, and has been over for longer than any signature lives, and a day;
 * 3. it is itself older than that, by the store's clock;
 * 4. its attempt has no manifest, neither in the bucket nor in the database, and belongs to no checkpoint that is complete,
 *    in the trash, or being uploaded in the present epoch.
 *
 * A node may be slow, a clock wrong, a listing late: each of them alone removes nothing.
 */

export const OLD_ENOUGH_MS = DEFAULT_LIFETIME_MS + 86_400_000;

export interface RunFacts {
  /** The latest epoch of the database. */
  currentEpoch: number;
  /** The highest the bucket names. */
  highestInBucket: number;
  /** When each epoch of the database was claimed, epoch ms by the hub's clock. */
  claimedAt: ReadonlyMap<number, number>;
}

export interface Leftover {
  epoch: number;
  /** Epoch ms by the store's clock; 0 when the store does not say. */
  modifiedAt: number;
  /** A manifest in the bucket, or a checkpoint of the database that counts, is of its attempt. */
  isNamed: boolean;
}

/** When `epoch` was over: the next one was claimed. Null while it is not, or when nobody knows. */
function overSince(run: RunFacts, epoch: number): number | null {
  let since: number | null = null;
  for (const [later, at] of run.claimedAt) {
    if (later > epoch) since = since === null ? at : Math.min(since, at);
  }
  return since;
}

/** Why it stays; null when nobody needs it. `run` is null when the database does not know it here. */
export function whyKept(run: RunFacts | null, leftover: Leftover, now: number): KeptReason | null {
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

/** What a probe left is of no run: its age alone decides. */
export const isOldProbe = (modifiedAt: number, now: number): boolean =>
  modifiedAt !== 0 && now - modifiedAt > OLD_ENOUGH_MS;
