import type * as z from "zod";
import type { FolderFile, FolderPage, listFolderInput } from "#protocol/browser-transfers.ts";
import { Fault } from "#protocol/fault.ts";
import { hasRole } from "#protocol/requests.ts";
import { listObjects } from "#storage/listing.ts";
import type { Hub } from "../hub.ts";
import type { Context, PersonCaller } from "../trpc.ts";
import { manifestOfCheckpoint } from "./may-read.ts";

const PAGE = 1000;

/**
 * The files of a folder to be downloaded: a prefix of a bucket page by page (operators), or a checkpoint as its manifest
 * says (everybody who sees checkpoints), with checksums.
 * @throws Fault NOT_FOUND, ROLE_REQUIRED, CHECKPOINT_INCOMPLETE, those of the listing
 */
export function listFolder(
  { hub, caller }: Context & { caller: PersonCaller },
  input: z.infer<typeof listFolderInput>,
): Promise<FolderPage> {
  if ("checkpointId" in input) return listCheckpoint(hub, input);
  if (!hasRole(caller.person.role, "operator")) {
    throw new Fault("ROLE_REQUIRED", { detail: "objects outside checkpoints need the role operator" });
  }
  return listPrefix(hub, input);
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
    // No browser unpacks these, and bytes do not go through the hub.
    const subject = path ?? `step ${committed.step} of ${committed.run}`;
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
): Promise<FolderPage> {
  const { profileId, prefix, cursor } = input;
  const { client, access } = await hub.stores.open(profileId);
  const start = cursor === null ? {} : { startAfter: cursor };
  const files: FolderFile[] = [];
  const unreadable: string[] = [];
  let last: string | null = null;
  const name = prefix.split("/").findLast((segment) => segment !== "") ?? access.bucket;
  for await (const { key, sizeBytes, etag, modifiedAt } of listObjects(client, {
    bucket: access.bucket,
    prefix,
    onUnreadable: (name) => void unreadable.push(name),
    ...start,
  })) {
    if (files.length >= PAGE) return { name, files, unreadable, cursor: last };
    last = key;
    // What consoles make to show an empty folder.
    if (key.endsWith("/") && sizeBytes === 0) continue;
    const folder = prefix.slice(0, prefix.lastIndexOf("/") + 1);
    const piece = { key, offset: 0, length: sizeBytes, etag, crc32: null };
    const pieces = sizeBytes === 0 ? [] : [piece];
    files.push({ path: key.slice(folder.length).replace(/^\/+/, ""), profileId, sizeBytes, modifiedAt, pieces });
  }
  return { name, files, unreadable, cursor: null };
}
