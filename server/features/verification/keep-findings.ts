import { putObjectText } from "#storage/s3/objects.ts";
import type { Hub } from "#server/core/api/hub.ts";

const AT_A_TIME = 100;

/**
 * Writes into the buckets what stands in line for them. One that could not be written stays in line and is written the next
 * time, under the same key and with the same words. Its checkpoint may be gone meanwhile, and the line with it.
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
