import { putObjectText } from "#storage/s3/objects.ts";
import type { Hub } from "#server/core/api/hub.ts";

const AT_A_TIME = 100;

/**
 * Writes queued findings into the buckets. A finding that could not be written stays queued and is written later, under the
 * same key with the same content. If its checkpoint is deleted meanwhile, so is the queued finding.
 * @throws Fault those of the store
 */
export async function keepFindings(hub: Hub): Promise<void> {
  if (!hub.live.mayFindingsWait) return;
  await hub.locks.run("keep findings", async () => {
    for (;;) {
      hub.live.mayFindingsWait = false;
      const rows = await hub.db.findingToKeep.findMany({ orderBy: { createdAt: "asc" }, take: AT_A_TIME });
      if (rows.length === 0) return;
      try {
        for (const { key, profileId, bucket, text } of rows) {
          const { client } = await hub.stores.open(profileId);
          await putObjectText(client, { bucket, key, text });
          await hub.db.findingToKeep.deleteMany({ where: { key } });
        }
      } catch (error) {
        hub.live.mayFindingsWait = true;
        throw error;
      }
    }
  });
}
