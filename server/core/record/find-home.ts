import { epochClaim } from "#protocol/checkpoint/checkpoint.ts";
import { isFault } from "#protocol/faults/fault.ts";
import { epochClaimKey } from "#protocol/checkpoint/keys.ts";
import type { RunName } from "#protocol/base/names.ts";
import { getObjectText } from "#storage/s3/objects.ts";
import type { Database } from "#prisma/open.ts";
import { homesOf } from "../profiles/homes-of.ts";
import type { OpenStore } from "../api/ports/stores.ts";

const MOST_CLAIM_BYTES = 64 * 1024;
/** Enough epochs to compare: the latest claims are in every home that could be reached. */
const MOST_LOOKED_AT = 20;

/** Returns whether the bucket has the same claim of this epoch as the database. @throws Fault those of the store */
async function isSameClaim(store: OpenStore, at: { run: RunName; epoch: number; nodeId: string }): Promise<boolean> {
  const key = epochClaimKey(store.prefix, at);
  try {
    const where = { bucket: store.access.bucket, key, maxBytes: MOST_CLAIM_BYTES };
    const { text } = await getObjectText(store.client, where);
    const { node, run } = epochClaim.parse(JSON.parse(text));
    return run === at.run && node.id === at.nodeId;
  } catch (error) {
    if (isFault(error) && error.code !== "NO_SUCH_KEY") throw error;
    return false;
  }
}

/**
 * Recovers a home of a run, since only the database lists them. After its loss a bucket counts as a home if it shares a claim
 * with another home: the same run, epoch number and node. Node ids are unique, so two runs that only share a name do not
 * match. Returns whether the bucket is a home now. @throws Fault those of the store
 */
export async function becomesHome(
  db: Database,
  { store, run }: { store: OpenStore; run: RunName },
  now: number,
): Promise<boolean> {
  const epochs = await db.epoch.findMany({ where: { run }, orderBy: { epoch: "desc" }, take: MOST_LOOKED_AT });
  for (const { epoch, nodeId } of epochs) {
    if (!(await isSameClaim(store, { run, epoch, nodeId }))) continue;
    const homes = [...((await homesOf(db, run))?.profileIds ?? []), store.profileId];
    const addedAt = new Date(now);
    await db.$transaction([
      db.runHome.deleteMany({ where: { run } }),
      db.runHome.createMany({
        data: homes.map((profileId, position) => ({ run, profileId, position, addedAt, addedBy: "" })),
      }),
    ]);
    return true;
  }
  return false;
}
