import { epochClaim } from "#protocol/checkpoint/checkpoint.ts";
import { isFault } from "#protocol/faults/fault.ts";
import { epochClaimKey } from "#protocol/checkpoint/keys.ts";
import type { RunName } from "#protocol/base/names.ts";
import { getObjectText } from "#storage/s3/objects.ts";
import type { Database } from "#prisma/open.ts";
import { homesOf } from "../profiles/homes-of.ts";
import type { OpenStore } from "../api/ports/stores.ts";

const MOST_CLAIM_BYTES = 64 * 1024;
/** The latest claims are in every home that could be reached. */
const MOST_LOOKED_AT = 20;

/** Whether the claim of this epoch in a bucket is the one that the database knows. @throws Fault those of the store */
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
 * Which buckets a run has as homes stands in the database alone. After that was lost a bucket is taken for one when it holds a
 * claim of the run by the same node, under the same number, as another home does: ids of nodes are never given twice, so two
 * runs that only share a name do not. Returns whether it is one now.
 * @throws Fault those of the store
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
