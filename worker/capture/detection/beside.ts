import type { Dirent } from "node:fs";
import { lstat, mkdir, readdir, readFile, realpath, writeFile } from "node:fs/promises";
import { dirname, join, relative, sep } from "node:path";
import { isModelName, readFileName } from "#protocol/recognition/checkpoint-file-names.ts";
import { filePath, whyPathRefused } from "#protocol/base/names.ts";
import {
  BESIDE_FOLDER,
  isPointerName,
  mayLieBeside,
  MOST_BESIDE,
  type BesideFile,
} from "#protocol/checkpoint/place.ts";
import { identityOf } from "#worker/base/file-identity.ts";
import { finalModelNames } from "./final-model.ts";
import type { Candidate } from "./find.ts";
import { folderOf, type LookedFile } from "./look.ts";
import { linkTo, pointerTo } from "./pointers.ts";

/**
 * Small files and links around a checkpoint that its loader needs: `latest` of DeepSpeed, `latest_checkpointed_iteration.txt` of
 * Megatron, `checkpoint` of TensorFlow, Hydra's `.hydra`, `hparams.yaml`, a link `last.ckpt`. They lie in the folder of the
 * checkpoint or in one above it, up to the watched folder, and are kept with it.
 */
export interface Beside {
  /** Entries of the manifest. */
  entries: BesideFile[];
  /** Files to secure, under the names that `entries` gives them. */
  files: LookedFile[];
  /** Files of this kind that are not kept, below the root: too large, or too many. */
  left: BesideLeft[];
}

/** A file beside a checkpoint that is not kept with it: it is too large, or there are too many. */
export interface BesideLeft {
  path: string;
  isLarge: boolean;
}

const MOST_FILE_BYTES = 1024 * 1024;
const HYDRA = ".hydra";

/** Something that was found. Rank 0 (pointers and links) is kept before rank 1 (settings). */
interface Found {
  rank: 0 | 1;
  entry: BesideFile;
  file: LookedFile | null;
  isLarge?: boolean;
}

/** Returns what lies beside a candidate. `scratch`: a folder for rewritten files. No faults: unreadable ones are left out. */
export async function findBeside(root: string, candidate: Candidate, scratch: string): Promise<Beside> {
  const parent = candidate.kind === "folder" ? dirname(candidate.path) : folderOf(candidate);
  const found: Found[] = [];
  const real = await realpath(root).catch(() => root);
  for (let folder = parent; isBelow(folder, root); folder = dirname(folder)) {
    found.push(...(await findIn({ root, real, folder, candidate, scratch })));
    const hydra = join(folder, HYDRA);
    // A link could lead to files that the program itself may not read.
    const isOwn = await lstat(hydra)
      .then((stats) => stats.isDirectory())
      .catch(() => false);
    if (isOwn) found.push(...(await findIn({ root, real, folder: hydra, candidate, scratch })));
    if (folder === root) break;
  }
  const small = found.filter(({ isLarge }) => isLarge !== true).toSorted((a, b) => a.rank - b.rank);
  const kept = new Set(small.slice(0, MOST_BESIDE));
  return {
    entries: [...kept].map(({ entry }) => entry),
    files: [...kept].flatMap(({ file }) => file ?? []),
    left: found.flatMap((one) => (kept.has(one) ? [] : [{ path: one.entry.path, isLarge: one.isLarge === true }])),
  };
}

const isBelow = (path: string, root: string): boolean => path === root || path.startsWith(root + sep);

interface Looking {
  root: string;
  /** The root with links resolved. */
  real: string;
  folder: string;
  candidate: Candidate;
  scratch: string;
}

async function findIn(looking: Looking): Promise<Found[]> {
  const entries = await readdir(looking.folder, { withFileTypes: true }).catch(() => []);
  // Files of a final model are kept with that model.
  const final = new Set(finalModelNames(entries.filter((entry) => entry.isFile()).map(({ name }) => name)));
  const found: Found[] = [];
  for (const entry of entries) {
    if (final.has(entry.name)) continue;
    const one = entry.isSymbolicLink()
      ? await readLinkEntry(looking, entry)
      : entry.isFile() && isWanted(looking, entry.name)
        ? await readFileEntry(looking, entry.name)
        : null;
    if (one !== null) found.push(one);
  }
  return found;
}

function isWanted({ candidate, folder }: Looking, name: string): boolean {
  if (isPointerName(name)) return true;
  if (!mayLieBeside(name)) return false;
  const isOwn =
    candidate.kind !== "folder" && folderOf(candidate) === folder && candidate.names?.includes(name) === true;
  return !isOwn && !(isModelName(name) && readFileName(name) !== null);
}

async function readLinkEntry({ root, real, folder, candidate }: Looking, entry: Dirent): Promise<Found | null> {
  const at = join(folder, entry.name);
  const target = await realpath(at).catch(() => null);
  if (target === null || !target.startsWith(real + sep)) return null;
  const path = relative(root, at);
  const found = relative(real, target);
  const wanted = linkTo({ name: entry.name, target: join(root, found) }, candidate);
  const link = wanted === null ? found : relative(root, wanted);
  if (whyPathRefused(path) !== null || whyPathRefused(link) !== null) return null;
  return { rank: 0, entry: { path: filePath.parse(path), link: filePath.parse(link) }, file: null };
}

async function readFileEntry(looking: Looking, name: string): Promise<Found | null> {
  const { root, folder, candidate, scratch } = looking;
  const at = join(folder, name);
  const path = relative(root, at);
  const inside = `${BESIDE_FOLDER}/${path}`;
  if (whyPathRefused(inside) !== null) return null;
  try {
    const isPointer = isPointerName(name) && (await lstat(at)).size <= MOST_FILE_BYTES;
    // A pointer that names this checkpoint already keeps its own time.
    const text = isPointer ? pointerTo({ name, folder, text: await readFile(at, "utf8") }, candidate) : null;
    const source = text === null ? at : join(scratch, path.replaceAll(sep, "-"));
    if (text !== null) {
      await mkdir(scratch, { recursive: true, mode: 0o700 });
      await writeFile(source, text);
    }
    const stats = await lstat(source, { bigint: true });
    if (!stats.isFile()) return null;
    // A rewritten pointer has the mode of the one in the folder.
    const { mode } = source === at ? stats : await lstat(at, { bigint: true });
    const file = {
      relative: inside,
      path: source,
      identity: identityOf(stats),
      mtimeMs: Math.max(0, Number(stats.mtimeMs)),
      mode: Number(mode) & 0o777,
    };
    return {
      rank: isPointerName(name) ? 0 : 1,
      entry: { path: filePath.parse(path), file: filePath.parse(inside) },
      file,
      ...(stats.size > MOST_FILE_BYTES && { isLarge: true }),
    };
  } catch {
    return null;
  }
}
