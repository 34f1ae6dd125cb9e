import { HIDDEN_FOLDER } from "#protocol/sealing.ts";
import { isSealed } from "#storage/sealing/open-manifest.ts";
import { announcedFiles } from "./check-manifest.ts";
import { extentSums, isAdopted, storedManifest, withSums, type StoredManifest } from "#protocol/adopted.ts";

/**
 * The manifest of a checkpoint as the hub recorded it: Tidemark's own, or what was adopted, with the checksums that nodes have
 * found of it since.
 */
export function readStored(content: { manifest: string; files: string }, sums: string | null = null): StoredManifest {
  const read = withNames(parseStored(content.manifest), content.files);
  return sums === null || !isAdopted(read) ? read : withSums(read, extentSums.parse(JSON.parse(sums)));
}

/** As it lies in the bucket: names that are hidden there stay so, which is enough for its keys and its kind. */
export const parseStored = (text: string): StoredManifest => storedManifest.parse(JSON.parse(text));

/** Names that are hidden in the bucket stand in the record, in the same order; where they do not, the hidden ones stay. */
function withNames(read: StoredManifest, announced: string): StoredManifest {
  if (!isSealed(read) || !read.transform.hideNames) return read;
  const named = announcedFiles.parse(JSON.parse(announced));
  const fits = named.length === read.files.length && named.every(({ path }) => !path.startsWith(`${HIDDEN_FOLDER}/`));
  if (!fits) return read;
  return { ...read, files: read.files.map((file, at) => ({ ...file, path: named[at]?.path ?? file.path })) };
}
