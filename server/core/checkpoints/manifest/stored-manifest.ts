import { HIDDEN_FOLDER } from "#protocol/checkpoint/sealing.ts";
import { isSealed } from "#storage/encryption/open-manifest.ts";
import { announcedIn } from "./check-manifest.ts";
import { extentSums, isAdopted, storedManifest, withSums, type StoredManifest } from "#protocol/checkpoint/adopted.ts";
import { createInputReader } from "#server/core/api/input-reader.ts";
import { PARSED_HERE_BYTES, STORED_MANIFEST } from "#server/core/api/large-inputs.ts";

/**
 * Returns the recorded manifest of a checkpoint: Tidemark's own, or an external one with the checksums that nodes have
 * computed since. Parsing 50,000 files would block the event loop for a third of a second, so a thread does it.
 */
export async function readStored(
  content: { manifest: string; files: string },
  sums: string | null = null,
): Promise<StoredManifest> {
  const read = withNames(await parseStored(content.manifest), content.files);
  return sums === null || !isAdopted(read) ? read : withSums(read, extentSums.parse(JSON.parse(sums)));
}

/** Concurrent requests for one manifest share one parse. The queue is long enough for all nodes of a fleet that restores. */
const reader = createInputReader({ waiting: 1_000, waitingEach: 1_000 });
const MOST_KEPT = 2;
/** Parsed manifests by text, the newest last. Manifests never change, so an entry never goes stale. */
const kept = new Map<string, Promise<StoredManifest>>();

/** Parses a manifest as stored in the bucket. Encrypted file names stay hidden, which suffices for its keys and its kind. */
export async function parseStored(text: string): Promise<StoredManifest> {
  if (text.length <= PARSED_HERE_BYTES) return storedManifest.parse(JSON.parse(text));
  const known = kept.get(text);
  if (known !== undefined) return known;
  const bytes = new TextEncoder().encode(text);
  // The thread parses it with the same schema.
  const read = reader.read({ caller: "", path: STORED_MANIFEST, bytes }) as Promise<StoredManifest>;
  const [oldest] = kept.keys();
  if (kept.size >= MOST_KEPT && oldest !== undefined) kept.delete(oldest);
  kept.set(text, read);
  read.catch(() => kept.delete(text));
  return read;
}

/**
 * Replaces hidden names by those of the database, which are in the same order; hidden names stay where the database lacks
 * them.
 */
function withNames(read: StoredManifest, announced: string): StoredManifest {
  if (!isSealed(read) || !read.transform.hideNames) return read;
  const named = announcedIn(announced);
  const fits = named.length === read.files.length && named.every(({ path }) => !path.startsWith(`${HIDDEN_FOLDER}/`));
  if (!fits) return read;
  return { ...read, files: read.files.map((file, at) => ({ ...file, path: named[at]?.path ?? file.path })) };
}
