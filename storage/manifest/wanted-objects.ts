import type { StoredExtent, StoredManifest } from "#protocol/checkpoint/adopted.ts";
import { Fault } from "#protocol/faults/fault.ts";
import { storedBytes } from "#protocol/checkpoint/packing.ts";

/** Size and ETag that a manifest requires of an object. */
interface WantedObject {
  sizeBytes: number;
  etag: string;
}
export type WantedObjects = Map<string, WantedObject>;

/** Yields to the event loop during long comparisons. */
export interface Pauses {
  isDue(): boolean;
  take(): Promise<void>;
}

const refuse = (detail: string): Fault => new Fault("BAD_INPUT", { op: "commit", subject: "manifest", detail });

/**
 * Returns the objects of a manifest by key. Several files may share an object, so their extents are compared: every byte
 * belongs to exactly one file, and all extents name the same ETag. The real sizes are compared with the bucket later
 * (`takeListed`). Works in slices, with `pauses` between them.
 * @throws Fault BAD_INPUT
 */
export async function wantedObjects({ files }: Pick<StoredManifest, "files">, pauses: Pauses): Promise<WantedObjects> {
  const byKey = new Map<string, StoredExtent[]>();
  for (const { extents } of files) {
    if (pauses.isDue()) await pauses.take();
    for (const extent of extents) {
      const known = byKey.get(extent.key);
      if (known === undefined) byKey.set(extent.key, [extent]);
      else known.push(extent);
    }
  }
  const wanted: WantedObjects = new Map();
  for (const [key, extents] of byKey) {
    if (pauses.isDue()) await pauses.take();
    wanted.set(key, objectOf(key, extents));
  }
  return wanted;
}

function objectOf(key: string, extents: readonly StoredExtent[]): WantedObject {
  const etag = extents[0]?.etag ?? "";
  if (extents.some((other) => other.etag !== etag)) throw refuse(`${key} is named with two ETags`);
  // Nearly every object holds one file only, so no sort is needed.
  const [first] = extents;
  const pieces =
    extents.length === 1 && first !== undefined
      ? [storedBytes(first)]
      : extents.map((extent) => storedBytes(extent)).sort((a, b) => a.offset - b.offset);
  let sizeBytes = 0;
  for (const { offset, length } of pieces) {
    if (offset < sizeBytes) throw refuse(`byte ${offset} of ${key} belongs to two pieces of files`);
    if (offset > sizeBytes) throw refuse(`byte ${sizeBytes} of ${key} belongs to no file`);
    sizeBytes += length;
  }
  return { sizeBytes, etag };
}

const bare = (etag: string): string => etag.replace(/^W\//, "").replace(/^"|"$/g, "");

/**
 * Compares one listed object with the manifest and removes it from `wanted`. Objects outside the manifest are ignored.
 * `hasStableEtags`: whether the store's ETags can be compared.
 * @throws Fault SIZE_MISMATCH, OBJECT_CHANGED
 */
export function takeListed(
  wanted: WantedObjects,
  found: { key: string; sizeBytes: number; etag: string | null },
  { hasStableEtags }: { hasStableEtags: boolean },
): void {
  const want = wanted.get(found.key);
  if (want === undefined) return;
  if (found.sizeBytes !== want.sizeBytes) {
    const detail = `${found.sizeBytes} bytes in the bucket, ${want.sizeBytes} in the manifest`;
    throw new Fault("SIZE_MISMATCH", { op: "commit", subject: found.key, detail });
  }
  if (hasStableEtags && bare(found.etag ?? "") !== bare(want.etag)) {
    throw new Fault("OBJECT_CHANGED", { op: "commit", subject: found.key });
  }
  wanted.delete(found.key);
}

/** Asserts that every object of the manifest was listed. @throws Fault NO_SUCH_KEY */
export function assertAllListed(wanted: WantedObjects): void {
  const missing = wanted.keys().next();
  if (missing.done !== true) throw new Fault("NO_SUCH_KEY", { op: "commit", subject: missing.value });
}
