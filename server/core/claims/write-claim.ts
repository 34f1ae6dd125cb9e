import type { EpochClaim } from "#protocol/checkpoint/checkpoint.ts";
import { epochClaimKey } from "#protocol/checkpoint/keys.ts";
import { isFault } from "#protocol/faults/fault.ts";
import { headObject, putObjectText } from "#storage/s3/objects.ts";
import type { Hub } from "../api/hub.ts";
import type { OpenStore } from "../api/ports/stores.ts";
import { markPrefix } from "../profiles/mark-prefix.ts";
import { takeFromStandalone } from "./take-from-standalone.ts";

/** Writes the claim unless one exists. Returns whether the claim in the bucket is ours. */
async function writeClaim(store: OpenStore, claim: EpochClaim): Promise<boolean> {
  const { client, access, prefix } = store;
  const at = { bucket: access.bucket, key: epochClaimKey(prefix, claim) };
  try {
    if (!access.traits.conditionalWrites) {
      const exists = await headObject(client, at).then(
        () => true,
        (error: unknown) => {
          if (isFault(error) && (error.code === "NO_SUCH_KEY" || error.code === "NOT_FOUND")) return false;
          throw error;
        },
      );
      if (exists) return false;
    }
    const once = access.traits.conditionalWrites ? { ifNoneMatch: "*" as const } : {};
    await putObjectText(client, { ...at, text: JSON.stringify(claim), ...once });
    return true;
  } catch (error) {
    if (isFault(error) && error.code === "ALREADY_EXISTS") return false;
    throw error;
  }
}

/** The result of writing a claim to one home. */
type Written = { store: OpenStore; isOurs: boolean };

/**
 * Writes the claim to every home that can be reached. One is enough: the claim only matters after the database was lost, and
 * then numbers continue a thousand above the highest that any home names. @throws Fault those of the store, when no home took
 * it
 */
export async function writeToHomes(stores: readonly OpenStore[], claim: EpochClaim): Promise<Written[]> {
  const tried = await Promise.allSettled(
    stores.map(async (store) => ({ store, isOurs: await writeClaim(store, claim) })),
  );
  const written = tried.flatMap((one) => (one.status === "fulfilled" ? [one.value] : []));
  const [first] = tried;
  if (written.length === 0 && first?.status === "rejected") throw first.reason;
  return written;
}

/**
 * Returns the homes that a node without a hub has written to, which must be read again. An unreachable home does not block
 * the claim. @throws Fault RUN_IN_USE while such a node writes the run
 */
export async function shutOutStandalone(
  hub: Hub,
  stores: readonly OpenStore[],
  claim: EpochClaim,
): Promise<OpenStore[]> {
  const now = hub.now();
  const written: OpenStore[] = [];
  for (const store of stores) {
    try {
      // The mark comes first: from then on no node starts without a hub there.
      await markPrefix(hub, store);
      if (await takeFromStandalone(store, claim, now)) written.push(store);
    } catch (error) {
      if (!isFault(error)) throw error;
      if (error.code !== "RUN_IN_USE") continue;
      // The next claim reads what that node still writes.
      await hub.db.run.updateMany({ where: { name: claim.run }, data: { highestSeen: null } });
      throw error;
    }
  }
  return written;
}
