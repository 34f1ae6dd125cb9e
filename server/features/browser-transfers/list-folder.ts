import { stepText } from "#protocol/checkpoint/step-words.ts";
import type * as z from "zod";
import type { FolderFile, FolderPage, listFolderInput } from "#protocol/buckets/browser-transfers.ts";
import { Fault } from "#protocol/faults/fault.ts";
import { hasRole } from "#protocol/wire/requests.ts";
import { listPage } from "#storage/s3/browse.ts";
import { openListing, sealListing } from "#server/core/profiles/listing-cursor.ts";
import type { Hub } from "#server/core/api/hub.ts";
import type { Context } from "#server/core/api/trpc.ts";
import { manifestOfCheckpoint } from "./may-read.ts";
import type { PersonCaller } from "#server/core/api/caller.ts";

const PAGE = 1000;

/**
 * Lists the files of a folder to download: a prefix of a bucket, page by page (operators), or a checkpoint by its manifest,
 * with checksums (everybody who may see checkpoints). Pages follow those of the store, so that unreadable names cost no more
 * than others.
 * @throws Fault NOT_FOUND, ROLE_REQUIRED, CHECKPOINT_INCOMPLETE, LISTING_OVER, CANCELLED, those of the listing
 */
export function listFolder(
  { hub, caller }: Context & { caller: PersonCaller },
  input: z.infer<typeof listFolderInput>,
  signal: AbortSignal,
): Promise<FolderPage> {
  if ("checkpointId" in input) return listCheckpoint(hub, input);
  if (!hasRole(caller.person.role, "operator")) {
    throw new Fault("ROLE_REQUIRED", { detail: "objects outside checkpoints need the role operator" });
  }
  return listPrefix(hub, input, signal);
}

async function listCheckpoint(
  hub: Hub,
  { checkpointId, path }: { checkpointId: string; path?: string | undefined },
): Promise<FolderPage> {
  const row = await hub.db.checkpoint.findUnique({ where: { id: checkpointId } });
  if (row === null) throw new Fault("NOT_FOUND", { subject: "this checkpoint" });
  const committed = await manifestOfCheckpoint(hub, row);
  if (committed === null) throw new Fault("CHECKPOINT_INCOMPLETE", { op: "download", subject: row.run });
  const chosen = path === undefined ? committed.files : committed.files.filter((file) => file.path === path);
  if (chosen.length === 0) throw new Fault("NOT_FOUND", { subject: path ?? "this checkpoint" });
  if (chosen.some(({ extents }) => extents.some((extent) => "stored" in extent && extent.stored !== undefined))) {
    // Browsers can neither decompress nor decrypt these files, and bytes do not go through the hub.
    const subject = path ?? `${stepText(committed.step)} of ${committed.run}`;
    const what = path === undefined ? "some of its files are" : "it is";
    const detail =
      committed.transform.kind === "sealed"
        ? "its files are encrypted, and browsers do not decrypt them; restore it to a node"
        : `${what} compressed with zstd, which browsers do not unpack; restore it to a node, or take it out of the bucket with tidemark restore`;
    throw new Fault("UNSUPPORTED", { op: "download", subject, detail });
  }
  const files = chosen.map((file): FolderFile => {
    const { sizeBytes, mtimeMs, extents } = file;
    return { path: file.path, profileId: row.profileId, sizeBytes, modifiedAt: mtimeMs, pieces: extents };
  });
  return { name: `${committed.run}-step-${committed.step}`, files, unreadable: [], cursor: null };
}

async function listPrefix(
  hub: Hub,
  input: { profileId: string; prefix: string; cursor: string | null },
  signal: AbortSignal,
): Promise<FolderPage> {
  const { profileId, prefix, cursor } = input;
  const of = ["download", profileId, prefix];
  const listing = openListing(of, cursor);
  const { from, repeats } = listing;
  const { client, access } = await hub.stores.open(profileId);
  const { bucket } = access;
  const asked = { bucket, prefix, delimiter: "" as const, startAfter: null, from, limit: PAGE, signal };
  const { objects, unreadable, next } = await listPage(client, { ...asked, mayName: true });
  const files: FolderFile[] = [];
  const name = prefix.split("/").findLast((segment) => segment !== "") ?? bucket;
  for (const { key, sizeBytes, etag, modifiedAt } of objects) {
    if (repeats.isRepeated(key)) continue;
    // Consoles create such keys to show an empty folder.
    if (key.endsWith("/") && sizeBytes === 0) continue;
    const folder = prefix.slice(0, prefix.lastIndexOf("/") + 1);
    const piece = { key, offset: 0, length: sizeBytes, etag, crc32: null };
    const pieces = sizeBytes === 0 ? [] : [piece];
    files.push({ path: key.slice(folder.length).replace(/^\/+/, ""), profileId, sizeBytes, modifiedAt, pieces });
  }
  return { name, files, unreadable, cursor: sealListing(of, next, listing) };
}
