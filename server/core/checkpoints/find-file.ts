import type { StoredExtent, StoredFile, StoredManifest } from "#protocol/checkpoint/adopted.ts";
import { Fault, isFault } from "#protocol/faults/fault.ts";
import { storedBytes } from "#protocol/checkpoint/packing.ts";
import type { FileInspection, InspectPlace } from "#protocol/checkpoint/inspect.ts";
import { readsBeside } from "#storage/inspect/inspect-file.ts";
import type { ByteSource, OpenBeside } from "#storage/inspect/source.ts";
import { getObjectRange, headObject } from "#storage/s3/objects.ts";
import { fileKeyOf } from "#storage/encryption/checkpoint-key.ts";
import { isSealedFrame, readSealed, unseal } from "#storage/encryption/unseal.ts";
import { unframe } from "#storage/encryption/unframe.ts";
import { unlockManifest } from "./key-of-checkpoint.ts";
import { readStored } from "./manifest/stored-manifest.ts";
import type { Hub } from "../api/hub.ts";
import type { OpenStore } from "../api/ports/stores.ts";
import { hashOf } from "#server/platform/random-id.ts";

/** Inspects files by ranged reads of one object version. The signing process signs every request. */

export interface ReadableCheckpoint {
  store: OpenStore;
  manifest: StoredManifest;
  /** The key of an encrypted checkpoint, held only during the inspection. */
  key: Buffer | null;
}

/**
 * Returns a complete checkpoint, by the manifest that the hub recorded. @throws Fault NOT_FOUND, CHECKPOINT_INCOMPLETE,
 * CHECKSUM_MISMATCH, SEAL_KEY_MISSING, SEAL_BROKEN
 */
export async function openCheckpoint(hub: Hub, checkpointId: string): Promise<ReadableCheckpoint> {
  const row = await hub.db.checkpoint.findUnique({
    where: { id: checkpointId },
    include: { content: true, adoption: true },
  });
  if (row === null) throw new Fault("NOT_FOUND", { op: "inspect", subject: "this checkpoint" });
  const text = row.content?.manifest ?? null;
  if (row.state !== "complete" || text === null || row.manifestSha256 === null) {
    throw new Fault("CHECKPOINT_INCOMPLETE", { op: "inspect", subject: checkpointId });
  }
  if (hashOf(text) !== row.manifestSha256)
    throw new Fault("CHECKSUM_MISMATCH", { op: "inspect", subject: checkpointId });
  const read = await readStored({ manifest: text, files: row.content?.files ?? "[]" }, row.adoption?.sums ?? null);
  return { store: await hub.stores.open(row.profileId), ...(await unlockManifest(hub, read)) };
}

/** Returns the ETag to require of a read; null where the store's ETags are not stable. */
const pinOf = ({ access }: OpenStore, etag: string): string | null => (access.traits.trustEtag ? etag : null);

interface FileAt {
  store: OpenStore;
  file: StoredFile;
  /** The key of its checkpoint; null: not encrypted. */
  key: Buffer | null;
  signal: AbortSignal;
}

/**
 * Inspects a file of a checkpoint at the ETags of its manifest. `files` are all files of the checkpoint, because metadata may
 * lie in another file of the folder. Faults: those of the store, OBJECT_CHANGED.
 */
export function inspectManifestFile(
  hub: Hub,
  about: FileAt & { files: readonly StoredFile[] },
): Promise<FileInspection> {
  const { store, file, files, key, signal } = about;
  const folder = file.path.slice(0, file.path.lastIndexOf("/") + 1);
  const beside: OpenBeside = (relative) => {
    const found = files.find(({ path }) => path === folder + relative);
    return Promise.resolve(found === undefined ? null : sourceOfExtents({ store, file: found, key, signal }));
  };
  // If other files of the folder are read as well, the cache key covers the whole folder.
  const versioned = readsBeside(file.path) ? files.filter(({ path }) => path.startsWith(folder)) : [file];
  const pins = versioned.flatMap(({ path, extents }) =>
    extents.map(({ key: at, offset, etag }) => `${path} ${at} ${offset} ${etag}`),
  );
  const version = store.access.traits.trustEtag ? hashOf([store.profileId, file.path, ...pins].join("\n")) : null;
  return hub.inspections.of(version, () => hub.inspector.inspect(file.path, sourceOfExtents(about), beside));
}

/** Returns a source of a file's bytes. They may be spread over several objects, or be one frame of a pack. */
function sourceOfExtents(about: FileAt): ByteSource {
  const { store, file, key, signal } = about;
  const fileKey = key === null ? null : fileKeyOf(key, file.path);
  const get = ({ key, etag }: StoredExtent, range: { offset: number; length: number }) =>
    getObjectRange(store.client, {
      bucket: store.access.bucket,
      key,
      ...range,
      etag: pinOf(store, etag),
      signal,
    });
  // A frame can only be unpacked as a whole, so it is kept during the inspection. A file has at most one, and it is small.
  const unpacked = new Map<StoredExtent, Uint8Array>();
  const readOf = async (extent: StoredExtent, from: number, length: number) => {
    if (fileKey !== null && !isSealedFrame(extent))
      return readSealed({ file, extent, fileKey }, { from, length }, (range) => get(extent, range));
    if (extent.stored === undefined) return get(extent, { offset: extent.offset + from, length });
    const unpack = (bytes: Uint8Array) => (fileKey === null ? unframe(bytes, extent) : unseal(bytes, extent, fileKey));
    const known = unpacked.get(extent) ?? (await unpack(await get(extent, storedBytes(extent))));
    unpacked.set(extent, known);
    return known.subarray(from, from + length);
  };
  return {
    sizeBytes: file.sizeBytes,
    read: async (offset, length) => {
      const bytes = new Uint8Array(length);
      let at = 0;
      for (const extent of file.extents) {
        const [first, last] = [Math.max(offset, at), Math.min(offset + length, at + extent.length)];
        if (first < last) bytes.set(await readOf(extent, first - at, last - first), first - offset);
        at += extent.length;
      }
      return bytes;
    },
  };
}

/** Inspects an object: its newest version, or the one of `etag`. Faults: NO_SUCH_KEY, OBJECT_CHANGED, those of the store. */
export async function inspectObject(
  hub: Hub,
  about: { store: OpenStore; key: string; etag: string | null; signal: AbortSignal },
): Promise<FileInspection> {
  const { store, key } = about;
  const { source, etag } = await openObject(about, key);
  if (about.etag !== null && etag !== about.etag) throw new Fault("OBJECT_CHANGED", { op: "inspect", subject: key });
  const folder = key.slice(0, key.lastIndexOf("/") + 1);
  const beside: OpenBeside = (relative) =>
    openObject(about, folder + relative).then(
      (found) => found.source,
      (error: unknown) => {
        if (isFault(error) && error.code === "NO_SUCH_KEY") return null;
        throw error;
      },
    );
  const isKept = pinOf(store, etag) !== null && !readsBeside(key);
  const version = isKept ? hashOf([store.profileId, key, etag].join("\n")) : null;
  return hub.inspections.of(version, () => hub.inspector.inspect(key, source, beside));
}

/** Returns a source of the object's current version; later reads fail if the object changes. */
async function openObject(
  { store, signal }: { store: OpenStore; signal: AbortSignal },
  key: string,
): Promise<{ source: ByteSource; etag: string }> {
  const { bucket } = store.access;
  const head = await headObject(store.client, { bucket, key });
  const etag = pinOf(store, head.etag);
  const source: ByteSource = {
    sizeBytes: head.sizeBytes,
    read: (offset, length) => getObjectRange(store.client, { bucket, key, offset, length, etag, signal }),
  };
  return { source, etag: head.etag };
}

/**
 * Inspects a file of a checkpoint or an object. Faults: NOT_FOUND when the checkpoint has no such file, those of
 * `openCheckpoint`, `inspectManifestFile` and `inspectObject`.
 */
export async function inspectAt(
  hub: Hub,
  place: InspectPlace,
  signal: AbortSignal,
): Promise<{ found: FileInspection; file: StoredFile | null }> {
  if ("profileId" in place) {
    const store = await hub.stores.open(place.profileId);
    return { found: await inspectObject(hub, { store, key: place.key, etag: place.etag, signal }), file: null };
  }
  const { store, manifest, key } = await openCheckpoint(hub, place.checkpointId);
  const file = manifest.files.find(({ path }) => path === place.path);
  if (file === undefined) throw new Fault("NOT_FOUND", { op: "inspect", subject: place.path });
  return { found: await inspectManifestFile(hub, { store, file, files: manifest.files, key, signal }), file };
}
