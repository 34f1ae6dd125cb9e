import { abortUpload } from "#storage/s3/objects.ts";
import type { Hub } from "#server/core/api/hub.ts";
import type { OpenStore } from "#server/core/api/ports/stores.ts";

/** An open upload of this age is aborted: its browser will not return, and stored parts cost money. */
const GIVEN_UP_AFTER_MS = 7 * 86_400_000;
/** Rows of ended uploads stay this long, so that a lost answer can be given again. */
const KEPT_AFTER_END_MS = 86_400_000;
const MOST_AT_ONCE = 20;

/** Aborts uploads that browsers left behind in a bucket, and deletes ended rows. After a refusal the next sweep tries again. */
export async function sweepUploads(hub: Hub, store: OpenStore): Promise<void> {
  const { profileId } = store;
  const before = (ms: number) => new Date(hub.now() - ms);
  await hub.db.browserUpload.deleteMany({ where: { profileId, endedAt: { lt: before(KEPT_AFTER_END_MS) } } });
  const left = await hub.db.browserUpload.findMany({
    where: { profileId, endedAt: null, startedAt: { lt: before(GIVEN_UP_AFTER_MS) } },
    take: MOST_AT_ONCE,
  });
  for (const { id, key, uploadId } of left) {
    try {
      if (uploadId !== null) await abortUpload(store.client, { bucket: store.access.bucket, key, uploadId });
      await hub.db.browserUpload.delete({ where: { id } });
    } catch (error) {
      hub.log.warn({ error, profileId }, "an upload that a browser left behind could not be taken back");
    }
  }
}
