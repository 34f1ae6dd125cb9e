import { Fault } from "#protocol/faults/fault.ts";
import type { KeptVersionsView } from "#protocol/retention/keeping.ts";
import { keepsVersions } from "#storage/s3/delete-many.ts";
import { homesOf } from "#server/core/profiles/homes-of.ts";
import type { Hub } from "#server/core/api/hub.ts";

/**
 * Asks each bucket of a run whether it keeps deleted objects as old versions, in which case a deletion frees nothing. This
 * covers object lock too, because it requires versioning.
 * @throws Fault NOT_FOUND
 */
export async function findVersions(
  hub: Pick<Hub, "db" | "stores">,
  { run }: { run: string },
): Promise<KeptVersionsView[]> {
  const homes = await homesOf(hub.db, run);
  if (homes === null) throw new Fault("NOT_FOUND", { subject: run });
  return Promise.all(
    homes.profileIds.map(async (profileId) => {
      const { client, access } = await hub.stores.open(profileId);
      return { bucket: access.bucket, keepsVersions: await keepsVersions(client, access.bucket) };
    }),
  );
}
