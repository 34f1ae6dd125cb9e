import { readdir, realpath, stat } from "node:fs/promises";
import { basename, join, relative, sep } from "node:path";
import { Fault } from "#protocol/faults/fault.ts";
import { contentEvidenceOf, nameEvidenceOf } from "#protocol/recognition/checkpoint-evidence.ts";
import { mayLieBeside } from "#protocol/checkpoint/place.ts";
import { formatBytes, formatCount } from "#protocol/base/units.ts";
import { visibleText } from "#protocol/base/visible-text.ts";
import { finalModelNames } from "./final-model.ts";
import { codeOf } from "#worker/base/disk-fault.ts";
import type { Candidate } from "./find.ts";
import { folderOf } from "./look.ts";
import { MOST_LEVELS, NOT_BY_DEFAULT, type Watched } from "./walk-watched.ts";

/** Files in a watched folder that belong to no checkpoint, so that nothing keeps them safe. Text, pictures and logs do not count. */
export interface Untaken {
  files: number;
  bytes: number;
  /** The largest ones, at most three, by their paths below the watched folder. */
  largest: readonly { path: string; sizeBytes: number; apart?: Apart }[];
  /** When the newest of them was written, epoch ms. */
  newestMs: number;
  /** First folder that was not looked into: there are too many (`many`), or it may not be read. Null: all were. */
  notEntered: { path: string; why: "many" | "unreadable" } | null;
}

/** A folder that is not looked into for checkpoints, by its path below the watched folder. */
export interface Apart {
  kind: "hidden" | "link" | "deep";
  folder: string;
}

/** More levels than the search for checkpoints enters: what lies deeper is told. */
const MOST_LEVELS_HERE = 32;
const MOST_FOLDERS = 2_000;
const MOST_LOOKED_AT = 20_000;
const MOST_SHOWN = 3;
/** Hidden folders of tools and of this worker. Their files were downloaded, are copies, or were thrown away. */
const TOOLS =
  /^\.(cache|git|hg|svn|venv|conda|local|npm|nv|triton|keras|dvc|ipynb_checkpoints|trash.*|tidemark-state|set-aside-.*)$|\.(restoring|replaced|parts)-[^.]+$/i;
/** File of every state folder, which holds captures. */
const LOCK = "worker.lock";
/** Smaller files are settings, caches and markers. */
const LEAST_BYTES = 1_024;

/**
 * Returns whether a file in a folder in which nobody looks for checkpoints has the name of one. Links often lead to data and to
 * models from which training starts, so a path behind one needs a number of a step too.
 */
function isSaved(path: string, { kind, folder }: Apart): boolean {
  if (kind === "deep") return true;
  const content = contentEvidenceOf([{ relative: basename(path), sizeBytes: 1 }]);
  if (!["framework", "weights", "container"].includes(content)) return false;
  const segments = path.slice(folder.length + 1).split("/");
  return kind === "hidden" || segments.some((segment) => nameEvidenceOf(segment) === "word");
}

/** Returns whether a link leads to a folder that neither lies in the watched one, where it is seen without the link, nor holds it. */
async function leadsAway(link: string, watched: string): Promise<boolean> {
  try {
    const [target, root] = (await Promise.all([realpath(link), realpath(watched)])).map((path) => `${path}${sep}`);
    if (target === undefined || root === undefined || target.startsWith(root) || root.startsWith(target)) return false;
    return (await stat(link)).isDirectory();
  } catch {
    return false;
  }
}

/**
 * Returns the files in a watched folder that belong to no candidate; in hidden and linked folders only those with names of a checkpoint.
 * `since`: only those written from then on, epoch ms. No faults: what cannot be read is left out.
 */
export async function findUntaken(
  { folder, isDefault }: Watched,
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
  const found: { path: string; sizeBytes: number; mtimeMs: number; apart: Apart | null }[] = [];
  const left = { folders: MOST_FOLDERS, files: MOST_LOOKED_AT };
  let notEntered: Untaken["notEntered"] = null;
  const enter = async (at: string, level: number, above: Apart | null): Promise<void> => {
    if (folders.has(at)) return;
    const apart = above ?? (level > MOST_LEVELS ? { kind: "deep" as const, folder: below(at) } : null);
    if (level > MOST_LEVELS_HERE || left.files < 0 || --left.folders < 0) {
      notEntered ??= { path: below(at), why: "many" };
      return;
    }
    const entries = await readdir(at, { withFileTypes: true }).catch((error: unknown) => {
      const isRefused = ["EACCES", "EPERM"].includes(codeOf(error) ?? "");
      if (isRefused && apart === null) notEntered ??= { path: below(at), why: "unreadable" };
      return [];
    });
    if (apart !== null && entries.some(({ name }) => name === LOCK)) return;
    const final = new Set(finalModelNames(entries.filter((entry) => entry.isFile()).map(({ name }) => name)));
    for (const entry of entries) {
      const path = join(at, entry.name);
      const isHidden = entry.name.startsWith(".");
      if (isHidden && (!entry.isDirectory() || TOOLS.test(entry.name))) continue;
      if (isDefault === true && at === folder && NOT_BY_DEFAULT.test(entry.name)) continue;
      if (entry.isDirectory())
        await enter(path, level + 1, apart ?? (isHidden ? { kind: "hidden", folder: below(path) } : null));
      else if (entry.isSymbolicLink() && apart === null && (await leadsAway(path, folder)))
        await enter(path, level + 1, { kind: "link", folder: below(path) });
      if (apart !== null && !isSaved(below(path), apart)) continue;
      if (!entry.isFile() || files.has(path) || mayLieBeside(entry.name)) continue;
      if (at === folder && final.has(entry.name)) continue;
      if (contentEvidenceOf([{ relative: entry.name, sizeBytes: 1 }]) === "text" || --left.files < 0) continue;
      const stats = await stat(path).catch(() => null);
      if (stats === null || stats.size < LEAST_BYTES || stats.mtimeMs < since) continue;
      found.push({ path, sizeBytes: stats.size, mtimeMs: stats.mtimeMs, apart });
    }
  };
  await enter(folder, 0, null);
  const largest = found
    .toSorted((a, b) => b.sizeBytes - a.sizeBytes)
    .slice(0, MOST_SHOWN)
    .map(({ path, sizeBytes, apart }) => ({ path: below(path), sizeBytes, ...(apart !== null && { apart }) }));
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
  const name = `${visibleText(first.path)} (${formatBytes(first.sizeBytes)})`;
  return files === 1 ? name : `${name} and ${formatCount(files - 1)} more (${formatBytes(bytes)} together)`;
}

/** Returns the folder that is not looked into in which the largest file lies; null: it lies in none. */
export const apartOf = ({ largest }: Pick<Untaken, "largest">): Apart | null => largest[0]?.apart ?? null;

/** Returns why the largest file is not taken. */
export function untakenReason(untaken: Pick<Untaken, "largest">): string {
  const apart = apartOf(untaken);
  if (apart === null) return "no checkpoint format and no checkpoint beside it";
  const which = { hidden: "a hidden folder", link: "a linked folder", deep: "a folder below many others" }[apart.kind];
  return `${which} is not looked into unless it is watched itself`;
}

/** Returns a Fault about the folders that were not looked into; null: all were. */
export function notEnteredFault(folder: string, { notEntered }: Pick<Untaken, "notEntered">): Fault | null {
  if (notEntered === null) return null;
  const { path, why } = notEntered;
  const subject = join(folder, path);
  const detail =
    why === "many"
      ? `${folder} has too many folders and files, so this one and what follows are not looked into: watch the folder of the checkpoints itself`
      : "the user of this worker may not read this folder, so what lies in it is unknown and not kept";
  return new Fault("NO_CHECKPOINT", { op: "capture", subject, detail });
}
