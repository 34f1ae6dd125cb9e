import type { StoredExtent, StoredFile, StoredManifest } from "#protocol/adopted.ts";
import { Fault } from "#protocol/fault.ts";
import { storedBytes } from "#protocol/packing.ts";
import type { FileInspection, InspectPlace } from "#protocol/inspect.ts";
import { inspectFile } from "#storage/inspect/inspect-file.ts";
import type { ByteSource } from "#storage/inspect/source.ts";
import { getObjectRange, headObject } from "#storage/objects.ts";
import { unframe } from "#storage/unframe.ts";
import { readStored } from "../checkpoints/stored-manifest.ts";
import type { Hub } from "../hub.ts";
import type { OpenStore } from "../profiles/open-store.ts";
import { hashOf } from "../random-id.ts";

/** Files as the hub looks inside them: by ranged reads whose every request the keeper signs, of one version each. */

export interface ReadableCheckpoint {
  store: OpenStore;
  manifest: StoredManifest;
}

/**
 * A complete checkpoint by the manifest that the hub recorded.
 * @throws Fault NOT_FOUND, CHECKPOINT_INCOMPLETE, CHECKSUM_MISMATCH
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
  return { store: await hub.stores.open(row.profileId), manifest: readStored(text, row.adoption?.sums ?? null) };
}

/** Where a store's ETags do not last, nothing can be held to them. */
const pinOf = ({ access }: OpenStore, etag: string): string | null => (access.traits.trustEtag ? etag : null);

/** Looks inside a file of a checkpoint, pinned to the ETags of its manifest. Faults: those of the store, OBJECT_CHANGED. */
export function inspectManifestFile(
  hub: Hub,
  about: { store: OpenStore; file: StoredFile; signal: AbortSignal },
): Promise<FileInspection> {
  const { store, file } = about;
  const pins = file.extents.map(({ key, offset, etag }) => `${key} ${offset} ${etag}`);
  const version = store.access.traits.trustEtag ? hashOf([store.profileId, file.path, ...pins].join("\n")) : null;
  return hub.inspections.of(version, () => inspectFile(file.path, sourceOfExtents(about)));
}

/** The bytes of a file, which may lie in pieces of several objects, or as a frame among others in one. */
function sourceOfExtents(about: { store: OpenStore; file: StoredFile; signal: AbortSignal }): ByteSource {
  const { store, file, signal } = about;
  const get = ({ key, etag }: StoredExtent, range: { offset: number; length: number }) =>
    getObjectRange(store.client, {
      bucket: store.access.bucket,
      key,
      ...range,
      etag: pinOf(store, etag),
      signal,
    });
  // A frame is read whole whatever is wanted of it, so it is kept while the file is looked at: at most one, and small.
  const unpacked = new Map<StoredExtent, Uint8Array>();
  const readOf = async (extent: StoredExtent, from: number, length: number) => {
    if (extent.stored === undefined) return get(extent, { offset: extent.offset + from, length });
    const known = unpacked.get(extent) ?? (await unframe(await get(extent, storedBytes(extent)), extent));
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

/** Looks inside an object: its newest version, or the one of `etag`. Faults: NO_SUCH_KEY, OBJECT_CHANGED, those of the store. */
export async function inspectObject(
  hub: Hub,
  about: { store: OpenStore; key: string; etag: string | null; signal: AbortSignal },
): Promise<FileInspection> {
  const { store, key, signal } = about;
  const { bucket } = store.access;
  const head = await headObject(store.client, { bucket, key });
  if (about.etag !== null && head.etag !== about.etag)
    throw new Fault("OBJECT_CHANGED", { op: "inspect", subject: key });
  const etag = pinOf(store, head.etag);
  const version = etag === null ? null : hashOf([store.profileId, key, etag].join("\n"));
  return hub.inspections.of(version, () =>
    inspectFile(key, {
      sizeBytes: head.sizeBytes,
      read: (offset, length) => getObjectRange(store.client, { bucket, key, offset, length, etag, signal }),
    }),
  );
}

/** A file by where it is. Faults: NOT_FOUND when the checkpoint has no such file, those of the two above. */
export async function inspectAt(
  hub: Hub,
  place: InspectPlace,
  signal: AbortSignal,
): Promise<{ found: FileInspection; file: StoredFile | null }> {
  if ("profileId" in place) {
    const store = await hub.stores.open(place.profileId);
    return { found: await inspectObject(hub, { store, key: place.key, etag: place.etag, signal }), file: null };
  }
  const { store, manifest } = await openCheckpoint(hub, place.checkpointId);
  const file = manifest.files.find(({ path }) => path === place.path);
  if (file === undefined) throw new Fault("NOT_FOUND", { op: "inspect", subject: place.path });
  return { found: await inspectManifestFile(hub, { store, file, signal }), file };
}
