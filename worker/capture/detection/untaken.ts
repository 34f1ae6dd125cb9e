import { readdir, stat } from "node:fs/promises";
import { basename, join, relative, sep } from "node:path";
import { Fault } from "#protocol/faults/fault.ts";
import { contentEvidenceOf } from "#protocol/recognition/checkpoint-evidence.ts";
import { mayLieBeside } from "#protocol/checkpoint/place.ts";
import { formatBytes, formatCount } from "#protocol/base/units.ts";
import { finalModelNames } from "./final-model.ts";
import type { Candidate } from "./find.ts";
import { folderOf } from "./look.ts";

/** Files in a watched folder that belong to no checkpoint, so that nothing keeps them safe. Text, pictures and logs do not count. */
export interface Untaken {
  files: number;
  bytes: number;
  /** The largest ones, at most three, by their paths below the watched folder. */
  largest: readonly { path: string; sizeBytes: number }[];
  /** When the newest of them was written, epoch ms. */
  newestMs: number;
  /** First folder that was not looked into, because there are too many; null: all were. */
  notEntered: string | null;
}

const MOST_LEVELS = 32;
const MOST_FOLDERS = 2_000;
const MOST_LOOKED_AT = 20_000;
const MOST_SHOWN = 3;
/** Hidden folders of tools and of this worker. What lies there was downloaded, is a copy, or was thrown away. */
const TOOLS =
  /^\.(cache|git|hg|svn|venv|conda|local|npm|nv|triton|keras|dvc|ipynb_checkpoints|trash.*|tidemark-state|set-aside-.*)$|\.(restoring|replaced|parts)-[^.]+$/i;
/** File of every state folder, which holds captures. */
const LOCK = "worker.lock";
/** Smaller files are settings, caches and markers. */
const LEAST_BYTES = 1_024;

/** Returns whether a file in a hidden folder, in which nobody looks for checkpoints, has the name of one. */
const isSaved = (name: string): boolean =>
  ["framework", "weights", "container"].includes(contentEvidenceOf([{ relative: name, sizeBytes: 1 }]));

/**
 * Returns the files in a watched folder that belong to no candidate; in hidden folders only those with names of a checkpoint.
 * `since`: only those written from then on, epoch ms. No faults: what cannot be read is left out.
 */
export async function findUntaken(
  folder: string,
  candidates: readonly Omit<Candidate, "step">[],
  since = 0,
): Promise<Untaken> {
  const isWhole = ({ kind, role }: Omit<Candidate, "step">) => kind === "folder" && role === undefined;
  const folders = new Set(candidates.filter(isWhole).map(({ path }) => path));
  const files = new Set(
    candidates
      .filter((one) => !isWhole(one))
      .flatMap((one) => (one.names ?? [basename(one.path)]).map((name) => join(folderOf(one), name))),
  );
  const below = (path: string): string => relative(folder, path).replaceAll(sep, "/");
  const found: { path: string; sizeBytes: number; mtimeMs: number }[] = [];
  const left = { folders: MOST_FOLDERS, files: MOST_LOOKED_AT };
  let notEntered: string | null = null;
  const enter = async (at: string, level: number, isHidden: boolean): Promise<void> => {
    if (folders.has(at)) return;
    if (level > MOST_LEVELS || left.files < 0 || --left.folders < 0) {
      notEntered ??= below(at);
      return;
    }
    const entries = await readdir(at, { withFileTypes: true }).catch(() => []);
    if (isHidden && entries.some(({ name }) => name === LOCK)) return;
    const final = new Set(finalModelNames(entries.filter((entry) => entry.isFile()).map(({ name }) => name)));
    for (const entry of entries) {
      const path = join(at, entry.name);
      const isOwnHidden = entry.name.startsWith(".");
      if (isOwnHidden && (!entry.isDirectory() || TOOLS.test(entry.name))) continue;
      if (entry.isDirectory()) await enter(path, level + 1, isHidden || isOwnHidden);
      if (isHidden && !isSaved(entry.name)) continue;
      if (!entry.isFile() || files.has(path) || mayLieBeside(entry.name)) continue;
      if (at === folder && final.has(entry.name)) continue;
      if (contentEvidenceOf([{ relative: entry.name, sizeBytes: 1 }]) === "text" || --left.files < 0) continue;
      const stats = await stat(path).catch(() => null);
      if (stats === null || stats.size < LEAST_BYTES || stats.mtimeMs < since) continue;
      found.push({ path, sizeBytes: stats.size, mtimeMs: stats.mtimeMs });
    }
  };
  await enter(folder, 0, false);
  const largest = found
    .toSorted((a, b) => b.sizeBytes - a.sizeBytes)
    .slice(0, MOST_SHOWN)
    .map(({ path, sizeBytes }) => ({ path: below(path), sizeBytes }));
  return {
    files: found.length,
    bytes: found.reduce((sum, { sizeBytes }) => sum + sizeBytes, 0),
    largest,
    newestMs: found.reduce((newest, { mtimeMs }) => Math.max(newest, mtimeMs), 0),
    notEntered,
  };
}

/** Returns the files in words: `notes.bin (2 GB) and 3 more (2.1 GB together)`. */
export function untakenWords({ files, bytes, largest }: Untaken): string {
  const [first] = largest;
  if (first === undefined) return "no file";
  const name = `${first.path} (${formatBytes(first.sizeBytes)})`;
  return files === 1 ? name : `${name} and ${formatCount(files - 1)} more (${formatBytes(bytes)} together)`;
}

/** Returns the outermost hidden folder in which the largest file lies; null: it lies in none. */
export const hiddenFolderOf = ({ largest }: Pick<Untaken, "largest">): string | null =>
  /^(?:[^/]+\/)*?\.[^/]+(?=\/)/.exec(largest[0]?.path ?? "")?.[0] ?? null;

/** Returns why the largest file is not taken. */
export const untakenReason = (untaken: Pick<Untaken, "largest">): string =>
  hiddenFolderOf(untaken) === null ? "no checkpoint format and no checkpoint beside it" : HIDDEN;

const HIDDEN = "a hidden folder is not looked into unless it is watched itself";

/** Returns a Fault about the folders that were not looked into; null: all were. */
export function notEnteredFault(folder: string, { notEntered }: Pick<Untaken, "notEntered">): Fault | null {
  if (notEntered === null) return null;
  const subject = join(folder, notEntered);
  const detail = `${folder} has too many folders and files, so this one and what follows are not looked into: watch the folder of the checkpoints itself`;
  return new Fault("NO_CHECKPOINT", { op: "capture", subject, detail });
}
