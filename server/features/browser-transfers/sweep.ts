import { abortUpload } from "#storage/s3/objects.ts";
import type { Hub } from "#server/core/api/hub.ts";
import type { OpenStore } from "#server/core/api/ports/stores.ts";

/** A browser that has not come back for so long will not; what it sent costs money. */
const GIVEN_UP_AFTER_MS = 7 * 86_400_000;
/** So long an answer that was lost can be given again. */
const KEPT_AFTER_END_MS = 86_400_000;
const MOST_AT_ONCE = 20;

/** Takes back what browsers left behind in a bucket, and forgets what ended. A store that refuses is asked again next time. */
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
