import { HIDDEN_FOLDER } from "#protocol/checkpoint/sealing.ts";
import { isSealed } from "#storage/encryption/open-manifest.ts";
import { announcedIn } from "./check-manifest.ts";
import { extentSums, isAdopted, storedManifest, withSums, type StoredManifest } from "#protocol/checkpoint/adopted.ts";
import { createInputReader } from "#server/core/api/input-reader.ts";
import { PARSED_HERE_BYTES, STORED_MANIFEST } from "#server/core/api/large-inputs.ts";

/**
 * The manifest of a checkpoint as the hub recorded it: Tidemark's own, or what was adopted, with the checksums that nodes have
 * found of it since. Parsing 50,000 files takes a third of a second, in which nobody else would be answered: a thread does that.
 */
export async function readStored(
  content: { manifest: string; files: string },
  sums: string | null = null,
): Promise<StoredManifest> {
  const read = withNames(await parseStored(content.manifest), content.files);
  return sums === null || !isAdopted(read) ? read : withSums(read, extentSums.parse(JSON.parse(sums)));
}

/** Every manifest is read once, however many ask for it at the same time. Long enough for all nodes of a fleet that restores. */
const reader = createInputReader({ waiting: 1_000, waitingEach: 1_000 });
const MOST_KEPT = 2;
/** Manifests never change, so what was read of a text is never out of date. The newest last. */
const kept = new Map<string, Promise<StoredManifest>>();

/** As it lies in the bucket: names that are hidden there stay so, which is enough for its keys and its kind. */
export async function parseStored(text: string): Promise<StoredManifest> {
  if (text.length <= PARSED_HERE_BYTES) return storedManifest.parse(JSON.parse(text));
  const known = kept.get(text);
  if (known !== undefined) return known;
  const bytes = new TextEncoder().encode(text);
  // Parsed by that very schema.
  const read = reader.read({ caller: "", path: STORED_MANIFEST, bytes }) as Promise<StoredManifest>;
  const [oldest] = kept.keys();
  if (kept.size >= MOST_KEPT && oldest !== undefined) kept.delete(oldest);
  kept.set(text, read);
  read.catch(() => kept.delete(text));
  return read;
}

/** Names that are hidden in the bucket stand in the record, in the same order; where they do not, the hidden ones stay. */
function withNames(read: StoredManifest, announced: string): StoredManifest {
  if (!isSealed(read) || !read.transform.hideNames) return read;
  const named = announcedIn(announced);
  const fits = named.length === read.files.length && named.every(({ path }) => !path.startsWith(`${HIDDEN_FOLDER}/`));
  if (!fits) return read;
  return { ...read, files: read.files.map((file, at) => ({ ...file, path: named[at]?.path ?? file.path })) };
}
