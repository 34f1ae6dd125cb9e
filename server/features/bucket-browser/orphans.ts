import type * as z from "zod";
import {
  MOST_ORPHANS,
  type abortOrphansInput,
  type listOrphansInput,
  type OrphansPage,
  type OrphanUpload,
} from "#protocol/buckets/bucket.ts";
import { Fault } from "#protocol/faults/fault.ts";
import { forEachOf } from "#protocol/base/for-each-of.ts";
import { uploadsPage } from "#storage/s3/browse.ts";
import { abortUpload, uploadedBytes } from "#storage/s3/objects.ts";
import { audit } from "#server/core/api/audit.ts";
import type { Hub } from "#server/core/api/hub.ts";
import type { Context } from "#server/core/api/trpc.ts";
import { requireMayDelete } from "#server/core/retention/may-delete.ts";
import { loadGuard } from "./protect.ts";
import { openListing, sealListing } from "#server/core/profiles/listing-cursor.ts";
import type { PersonCaller } from "#server/core/api/caller.ts";

/** Multipart uploads that nobody completed: they hold parts, cost money, and no listing of objects shows them. */

const AT_A_TIME = 8;

/** Lists open uploads with size and protection. @throws Fault NOT_FOUND, LISTING_OVER, CANCELLED, those of the store */
export async function listOrphans(
  hub: Hub,
  input: z.infer<typeof listOrphansInput>,
  signal: AbortSignal,
): Promise<OrphansPage> {
  const { profileId, prefix, cursor } = input;
  const of = ["orphans", profileId, prefix];
  const listing = openListing(of, cursor);
  const { from, repeats } = listing;
  const store = await hub.stores.open(profileId);
  const { bucket } = store.access;
  const [page, guard] = await Promise.all([
    uploadsPage(store.client, { bucket, prefix, from, limit: MOST_ORPHANS, signal }),
    loadGuard(hub, store),
  ]);
  const uploads = page.uploads
    .filter(({ key, uploadId }) => !repeats.isRepeated(`${uploadId} ${key}`))
    .map((upload): OrphanUpload => ({ ...upload, sizeBytes: null, protection: null }));
  await forEachOf(uploads, AT_A_TIME, async (upload) => {
    if (signal.aborted) throw new Fault("CANCELLED", { op: "ListParts" });
    const { key, uploadId } = upload;
    upload.sizeBytes = await uploadedBytes(store.client, { bucket, key, uploadId });
    upload.protection = await guard.explain(key);
  });
  return { uploads, unreadable: page.unreadable, nextCursor: sealListing(of, page.next, listing) };
}

/**
 * Aborts uploads. Those below Tidemark's folders are left to the janitor, which knows the nodes that still send.
 * @throws Fault DELETIONS_OFF, BELONGS_TO_TIDEMARK (nothing was aborted), those of the store
 */
export async function abortOrphans(
  { hub, caller }: Context & { caller: PersonCaller },
  { profileId, uploads }: z.infer<typeof abortOrphansInput>,
): Promise<{ aborted: number }> {
  await requireMayDelete(hub);
  const store = await hub.stores.open(profileId);
  const guard = await loadGuard(hub, store);
  const held = uploads.find(({ key }) => guard.of(key) !== null);
  if (held !== undefined) throw new Fault("BELONGS_TO_TIDEMARK", { op: "AbortMultipartUpload", subject: held.key });
  const { bucket } = store.access;
  // The audit entry comes first, because aborted uploads leave no trace.
  const subject = `${store.profileName}: ${uploads.length === 1 ? uploads[0]?.key : `${uploads.length} uploads`}`;
  await audit(hub, caller, { action: "abort uploads", subject: subject.slice(0, 1024), subjectId: profileId });
  await forEachOf(uploads, AT_A_TIME, async ({ key, uploadId }) => {
    await abortUpload(store.client, { bucket, key, uploadId });
  });
  return { aborted: uploads.length };
}
