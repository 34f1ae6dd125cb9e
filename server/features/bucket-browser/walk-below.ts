import type * as z from "zod";
import { MOST_ROWS, WALK_LIMITS, type BucketObject, type walkInput, type WalkPage } from "#protocol/buckets/bucket.ts";
import { listPage } from "#storage/s3/browse.ts";
import type { Hub } from "#server/core/api/hub.ts";
import { countUnreadable, noUnreadable } from "#server/core/profiles/count-unreadable.ts";
import { openListing, sealListing } from "#server/core/profiles/listing-cursor.ts";

/**
 * Walks a stretch of everything below a prefix, bounded in requests, time and matches, so that a bucket of any size costs the
 * hub one page at a time. The caller continues with the cursor. Returns how far the walk came. Faults: NOT_FOUND, LISTING_OVER,
 * CANCELLED, those of the store.
 */
export async function walkBelow(hub: Hub, input: z.infer<typeof walkInput>, signal: AbortSignal): Promise<WalkPage> {
  const { profileId, prefix, cursor } = input;
  const words = input.words.toLowerCase();
  const of = ["walk", profileId, prefix];
  const listing = openListing(of, cursor);
  let { from } = listing;
  const store = await hub.stores.open(profileId);
  const { bucket } = store.access;
  const until = performance.now() + WALK_LIMITS.ms;
  const objects: BucketObject[] = [];
  const looked = { objects: 0, bytes: 0, requests: 0 };
  const matching = { objects: 0, bytes: 0 };
  let through: string | null = null;
  const unreadable = noUnreadable();
  let repeated = 0;
  for (;;) {
    const asked = { bucket, prefix, delimiter: "" as const, startAfter: null, limit: MOST_ROWS, signal };
    const page = await listPage(store.client, { ...asked, from, mayName: true });
    looked.requests++;
    countUnreadable(unreadable, page.unreadable);
    for (const object of page.objects) {
      if (listing.repeats.isRepeated(object.key)) {
        repeated++;
        continue;
      }
      looked.objects++;
      looked.bytes += object.sizeBytes;
      through = object.key;
      if (!object.key.slice(prefix.length).toLowerCase().includes(words)) continue;
      matching.objects++;
      matching.bytes += object.sizeBytes;
      if (words !== "") objects.push(object);
    }
    from = page.next;
    const isFull = objects.length >= WALK_LIMITS.matches || looked.requests >= WALK_LIMITS.requests;
    if (from === null || isFull || performance.now() >= until) break;
  }
  const nextCursor = sealListing(of, from, listing);
  return { objects, looked, matching, unreadable, repeated, through, nextCursor };
}
