import { readFile } from "node:fs/promises";
import { isFault } from "#protocol/faults/fault.ts";
import {
  isArray,
  OCDBT_MANIFEST,
  type OrbaxTree,
  readTree,
  readZarr,
  zarrPathOf,
} from "#storage/inspect/orbax-tree.ts";
import { isRecord, parseJson } from "#storage/inspect/parse-json.ts";
import { readOcdbt } from "#storage/inspect/read-ocdbt.ts";
import { boundSource, readBeside } from "#storage/inspect/source.ts";
import { openBeside, sourceOfFile } from "#worker/base/file-source.ts";
import type { LookedFile } from "./look.ts";

/**
 * Checks Orbax' own files. `_METADATA` names the arrays; the index beside it (or a file for each array) says where their bytes
 * lie. `_CHECKPOINT_METADATA` says whether all of it was committed. After a power cut a file may exist incompletely; only the
 * file that names it shows that.
 */
const TREE = /(^|\/)_METADATA$/;
/** Written together with `_METADATA`, in the same folder. */
const WITH_TREE = /(^|\/)(_sharding|array_metadatas\/process_\d+)$/;
const MOST_BYTES = 32 * 1024 * 1024;

/** Files of the checkpoint by path. */
type Files = ReadonlyMap<string, LookedFile>;

/** Returns a sentence that says which file named by a `_METADATA` is missing or too short; null when none is. No faults. */
export async function findMissingInOrbax(files: readonly LookedFile[]): Promise<string | null> {
  const byPath: Files = new Map(files.map((file) => [file.relative, file]));
  for (const { relative } of files) {
    const tree = `${relative.replace(WITH_TREE, "$1")}_METADATA`;
    if (WITH_TREE.test(relative) && !byPath.has(tree)) return `${tree} is missing`;
  }
  for (const file of files) {
    if (!TREE.test(file.relative) || file.identity.sizeBytes > MOST_BYTES) continue;
    const missing = await findMissingOfTree(file, byPath).catch((error: unknown) => {
      if (isFault(error) && error.code === "MALFORMED") return `what ${file.relative} describes is damaged`;
      return null;
    });
    if (missing !== null) return missing;
  }
  return null;
}

async function findMissingOfTree(file: LookedFile, files: Files): Promise<string | null> {
  const folder = file.relative.slice(0, file.relative.lastIndexOf("/") + 1);
  const bytes = await readFile(file.path);
  let tree: OrbaxTree | null;
  try {
    tree = readTree(parseJson(bytes));
  } catch {
    return `${file.relative} is cut short`;
  }
  if (tree === null) return null;
  const manifest = files.get(folder + OCDBT_MANIFEST);
  if (tree.isOcdbt ?? manifest !== undefined) {
    if (manifest === undefined) return `${folder}${OCDBT_MANIFEST} is missing`;
    return findMissingInIndex(manifest, { folder, files });
  }
  return findMissingArray(tree, { folder, files });
}

async function findMissingInIndex(
  manifest: LookedFile,
  { folder, files }: { folder: string; files: Files },
): Promise<string | null> {
  const spent = { readBytes: 0, reads: 0 };
  const source = boundSource(sourceOfFile(manifest.path, manifest.identity.sizeBytes), spent);
  const open = readBeside((relative) => openBeside(manifest.path, relative), spent);
  const index = await readOcdbt(source, { open, wanted: () => false }).catch((error: unknown) => {
    // The index is larger than the limit for reading, so nothing is said about it.
    if (isFault(error) && error.code === "TOO_MUCH_INSIDE") return null;
    throw error;
  });
  for (const [path, sizeBytes] of index?.files ?? []) {
    const there = files.get(folder + path);
    if (there === undefined) return `${folder}${path} is missing`;
    if (there.identity.sizeBytes < sizeBytes) return `${folder}${path} is cut short`;
  }
  return null;
}

/** Checks arrays in folders of their own: each needs its zarr description, and as many chunks as that says. */
async function findMissingArray(
  tree: OrbaxTree,
  { folder, files }: { folder: string; files: Files },
): Promise<string | null> {
  for (const { name } of tree.leaves.filter(isArray)) {
    const path = folder + zarrPathOf(tree, name);
    const about = files.get(path);
    if (about === undefined) return `${path} is missing`;
    const { pieces } = readZarr(await readFile(about.path));
    const first = `${folder}${name}/`;
    let there = 0;
    for (const [other, { identity }] of files)
      if (other.startsWith(first) && other !== path && identity.sizeBytes > 0) there++;
    if (pieces !== null && there < pieces)
      return `${pieces - there} of ${pieces} pieces of ${folder}${name} are missing`;
  }
  return null;
}

/**
 * Returns whether everything was written: `commit_timestamp_nsecs` is null until then. Older versions lack it and rename
 * instead.
 */
export async function readCommit(file: LookedFile): Promise<"committed" | "not yet" | "cut"> {
  try {
    const parsed = parseJson(await readFile(file.path));
    return isRecord(parsed) && parsed["commit_timestamp_nsecs"] === null ? "not yet" : "committed";
  } catch {
    return "cut";
  }
}
