import type * as z from "zod";
import type { FolderPage, listFolderInput, listVersionsInput, VersionsPage } from "#protocol/buckets/bucket.ts";
import { isFault } from "#protocol/faults/fault.ts";
import { listPage, versionsPage } from "#storage/s3/browse.ts";
import type { Hub } from "#server/core/api/hub.ts";
import { openCursor, sealCursor } from "#server/core/profiles/seal-cursor.ts";

/** Lists one page of a folder as requested; the hub keeps nothing of earlier pages. */

const opened = (of: readonly string[], cursor: string | null): string | null =>
  cursor === null ? null : openCursor(of, cursor);
const sealed = (of: readonly string[], next: string | null): string | null =>
  next === null ? null : sealCursor(of, next);

/** Lists the folders and objects directly below a prefix. @throws Fault NOT_FOUND, LISTING_OVER, CANCELLED, those of the store */
export async function listFolder(
  hub: Hub,
  input: z.infer<typeof listFolderInput>,
  signal: AbortSignal,
): Promise<FolderPage> {
  const { profileId, prefix, startAfter, cursor, limit } = input;
  const of = ["list", profileId, prefix];
  const from = opened(of, cursor);
  const store = await hub.stores.open(profileId);
  const { bucket } = store.access;
  const asked = { bucket, prefix, delimiter: "/" as const, from, startAfter, limit, signal, mayName: true as const };
  const page = await listPage(store.client, asked);
  return {
    folders: page.folders,
    objects: page.objects,
    unreadable: page.unreadable,
    nextCursor: sealed(of, page.next),
  };
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
  const from = opened(of, cursor);
  const store = await hub.stores.open(profileId);
  const { bucket } = store.access;
  try {
    const page = await versionsPage(store.client, { bucket, prefix, delimiter: "/", from, limit, signal });
    const { folders, versions, unreadable, next } = page;
    return { isSupported: true, folders, versions, unreadable, nextCursor: sealed(of, next) };
  } catch (error) {
    if (!isFault(error) || error.code !== "UNSUPPORTED") throw error;
    return { isSupported: false, folders: [], versions: [], unreadable: [], nextCursor: null };
  }
}
