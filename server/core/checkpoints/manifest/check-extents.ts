import type { StoredExtent, StoredManifest } from "#protocol/checkpoint/adopted.ts";
import { Fault } from "#protocol/faults/fault.ts";
import { storedBytes } from "#protocol/checkpoint/packing.ts";
import { createPauses } from "#server/platform/pauses.ts";

/** What an object that a manifest names has to be. */
export interface WantedObject {
  sizeBytes: number;
  etag: string;
}

const refuse = (detail: string): Fault => new Fault("BAD_INPUT", { op: "commit", subject: "manifest", detail });

/**
 * The objects of a manifest, by key. Many files may lie in one object, so what they claim of it is compared: every byte of
 * it belongs to one file and to no other, and all of them name the same ETag. Whether the object has that size, the bucket tells.
 * Compares them in slices.
 * @throws Fault BAD_INPUT
 */
export async function wantedObjects({ files }: Pick<StoredManifest, "files">): Promise<Map<string, WantedObject>> {
  const pauses = createPauses();
  const byKey = new Map<string, StoredExtent[]>();
  for (const { extents } of files) {
    if (pauses.isDue()) await pauses.take();
    for (const extent of extents) {
      const known = byKey.get(extent.key);
      if (known === undefined) byKey.set(extent.key, [extent]);
      else known.push(extent);
    }
  }
  const wanted = new Map<string, WantedObject>();
  for (const [key, extents] of byKey) {
    if (pauses.isDue()) await pauses.take();
    wanted.set(key, objectOf(key, extents));
  }
  return wanted;
}

function objectOf(key: string, extents: readonly StoredExtent[]): WantedObject {
  const etag = extents[0]?.etag ?? "";
  if (extents.some((other) => other.etag !== etag)) throw refuse(`${key} is named with two ETags`);
  // Of 50,000 objects nearly all are one file's: nothing is sorted for them.
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
