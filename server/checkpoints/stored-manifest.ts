import { extentSums, isAdopted, storedManifest, withSums, type StoredManifest } from "#protocol/adopted.ts";

/**
 * The manifest of a checkpoint as the hub recorded it: Tidemark's own, or what was adopted, with the checksums that nodes have
 * found of it since.
 */
export function readStored(text: string, sums: string | null): StoredManifest {
  const read = storedManifest.parse(JSON.parse(text));
  return sums === null || !isAdopted(read) ? read : withSums(read, extentSums.parse(JSON.parse(sums)));
}
