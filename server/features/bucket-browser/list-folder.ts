import type * as z from "zod";
import type { FolderPage, listFolderInput, listVersionsInput, VersionsPage } from "#protocol/buckets/bucket.ts";
import { isFault } from "#protocol/faults/fault.ts";
import { listPage, versionsPage } from "#storage/s3/browse.ts";
import type { Hub } from "#server/core/api/hub.ts";
import { openListing, sealListing } from "#server/core/profiles/listing-cursor.ts";

/** Lists one page of a folder as requested; the hub keeps nothing of earlier pages. */

/** Lists the folders and objects directly below a prefix. @throws Fault NOT_FOUND, LISTING_OVER, CANCELLED, those of the store */
export async function listFolder(
  hub: Hub,
  input: z.infer<typeof listFolderInput>,
  signal: AbortSignal,
): Promise<FolderPage> {
  const { profileId, prefix, startAfter, cursor, limit } = input;
  const of = ["list", profileId, prefix];
  const listing = openListing(of, cursor);
  const { from, repeats } = listing;
  const store = await hub.stores.open(profileId);
  const { bucket } = store.access;
  const asked = { bucket, prefix, delimiter: "/" as const, from, startAfter, limit, signal, mayName: true as const };
  const page = await listPage(store.client, asked);
  const folders = page.folders.filter((name) => !repeats.isRepeated(`folder ${name}`));
  const objects = page.objects.filter(({ key }) => !repeats.isRepeated(`object ${key}`));
  const repeated = page.folders.length + page.objects.length - folders.length - objects.length;
  return { folders, objects, unreadable: page.unreadable, repeated, nextCursor: sealListing(of, page.next, listing) };
}

/**
 * Lists versions; a store without versions yields an empty page.
 * @throws Fault NOT_FOUND, LISTING_OVER, CANCELLED, those of the store
 */
export async function listVersions(
  hub: Hub,
  input: z.infer<typeof listVersionsInput>,
  signal: AbortSignal,
): Promise<VersionsPage> {
  const { profileId, prefix, cursor, limit } = input;
  const of = ["versions", profileId, prefix];
  const listing = openListing(of, cursor);
  const { from, repeats } = listing;
  const store = await hub.stores.open(profileId);
  const { bucket } = store.access;
  try {
    const page = await versionsPage(store.client, { bucket, prefix, delimiter: "/", from, limit, signal });
    const folders = page.folders.filter((name) => !repeats.isRepeated(`folder ${name}`));
    const versions = page.versions.filter(({ key, versionId }) => !repeats.isRepeated(`version ${versionId} ${key}`));
    const nextCursor = sealListing(of, page.next, listing);
    return { isSupported: true, folders, versions, unreadable: page.unreadable, nextCursor };
  } catch (error) {
    if (!isFault(error) || error.code !== "UNSUPPORTED") throw error;
    return { isSupported: false, folders: [], versions: [], unreadable: [], nextCursor: null };
  }
}
