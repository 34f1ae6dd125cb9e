import { readdir, realpath, stat } from "node:fs/promises";
import { basename, join, relative, sep } from "node:path";
import { Fault } from "#protocol/faults/fault.ts";
import {
  contentEvidenceOf,
  isFrameworkFile,
  isWeightsName,
  nameEvidenceOf,
} from "#protocol/recognition/checkpoint-evidence.ts";
import { readFileName } from "#protocol/recognition/checkpoint-file-names.ts";
import { isTemporaryName } from "#protocol/recognition/checkpoint-layouts.ts";
import { createPriorityQueue, type PriorityQueue } from "#worker/base/priority-queue.ts";
import { mayLieBeside } from "#protocol/checkpoint/place.ts";
import { formatBytes, formatCount } from "#protocol/base/units.ts";
import { visibleText } from "#protocol/base/visible-text.ts";
import { finalModelNames } from "./final-model.ts";
import { codeOf } from "#worker/base/disk-fault.ts";
import type { Candidate } from "./find.ts";
import { factsOfFolders } from "./list-folder.ts";
import { folderOf } from "./look.ts";
import { MOST_LEVELS, NOT_BY_DEFAULT, STATE_LOCK, type Watched } from "./walk-watched.ts";

/** Files in a watched folder that belong to no checkpoint, so that nothing keeps them safe. Text, pictures and logs do not count. */
export interface Untaken {
  files: number;
  bytes: number;
  /** The largest ones, at most three, by their paths below the watched folder. */
  largest: readonly { path: string; sizeBytes: number; apart?: Apart }[];
  /** When the newest of them was written, epoch ms. */
  newestMs: number;
  /** Files below 1 KiB whose names are of no checkpoint: markers and settings, most likely. They are counted apart. */
  small: { files: number; first: string };
  /** Folders that were not looked into, for each reason. */
  notEntered: readonly NotEntered[];
}

/**
 * Folders that were not looked into: there are too many (`folders`), this search for files ended (`files`), or they may not be
 * read. `path`: the first one, below the watched folder; `others`: how many more, without what lies below them.
 */
interface NotEntered {
  why: "folders" | "files" | "unreadable";
  path: string;
  others: number;
}

/** A folder that is not looked into for checkpoints, by its path below the watched folder, or that of a hidden file. */
export interface Apart {
  kind: "hidden" | "link" | "deep" | "dot" | "data";
  folder: string;
}

/** More levels than the search for checkpoints enters: what lies deeper is told. */
const MOST_LEVELS_HERE = 32;
/** As many folders as a walk enters by their time, and as its first walk does. */
const MOST_FOLDERS = { each: 2_000, atEnd: 20_000 };
const MOST_LOOKED_AT = 20_000;
const MOST_SHOWN = 3;
/** Hidden folders of tools and of this worker. Their files were downloaded, are copies, or were thrown away. */
const TOOLS =
  /^\.(cache|git|hg|svn|venv|conda|local|npm|nv|triton|keras|dvc|ipynb_checkpoints|trash.*|tidemark-state|set-aside-.*)$|\.(restoring|replaced|parts)-[^.]+$/i;
/** Smaller files are settings, caches and markers, unless their names are of checkpoints. */
const LEAST_BYTES = 1_024;
/** A hidden file that changed within this time may be one that is renamed when it is whole. */
const HIDDEN_QUIET_MS = 60_000;

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

/** Returns whether a file has the name of a checkpoint behind the dot that hides it. `._x` is what macOS writes beside `x`. */
function isHiddenCheckpoint(name: string): boolean {
  const plain = name.slice(1);
  if (plain.startsWith("_") || isTemporaryName(plain)) return false;
  return isWeightsName(plain) || readFileName(plain)?.isSaverName === true;
}

/** Returns whether a file of less than 1 KiB is told by its name. A pickle of such a size holds settings, most likely. */
const isToldThoughSmall = (name: string): boolean =>
  isWeightsName(name) || isFrameworkFile(name) || readFileName(name)?.isSaverName === true;

interface Entered {
  path: string;
  level: number;
  apart: Apart | null;
  changedMs: number;
}

interface FoundFile {
  path: string;
  sizeBytes: number;
  mtimeMs: number;
  apart: Apart | null;
}

/** A search for files that belong to no candidate, by paths below the watched folder. */
interface Search {
  root: string;
  isDefault: boolean;
  /** Only files written from then on count, epoch ms. */
  since: number;
  /** The program has ended. */
  isOver: boolean;
  queue: PriorityQueue<Entered>;
  isTaken(path: string): boolean;
  files: FoundFile[];
  small: { files: number; first: string };
  notEntered: Map<NotEntered["why"], NotEntered>;
  /** Files that may still be looked at. */
  left: number;
}

const below = ({ root }: Pick<Search, "root">, path: string): string => relative(root, path).replaceAll(sep, "/");

function passOver(search: Search, why: NotEntered["why"], path: string): void {
  const known = search.notEntered.get(why);
  if (known === undefined) search.notEntered.set(why, { why, path: below(search, path), others: 0 });
  else known.others++;
}

/**
 * Returns the files in a watched folder that belong to no candidate; of hidden ones, and in hidden and linked folders, only
 * those with names of a checkpoint. Folders that changed last come first. `since`: only files written from then on count, epoch ms.
 * `isOver`: the program has ended. No faults: what cannot be read is left out.
 */
export async function findUntaken(
  { folder, isDefault = false }: Watched,
  candidates: readonly Omit<Candidate, "step">[],
  { since = 0, isOver = false }: { since?: number; isOver?: boolean } = {},
): Promise<Untaken> {
  const isWhole = ({ kind, role }: Omit<Candidate, "step">) => kind === "folder" && role === undefined;
  const folders = new Set(candidates.filter(isWhole).map(({ path }) => path));
  const files = new Set(
    candidates
      .filter((one) => !isWhole(one))
      .flatMap((one) => (one.names ?? [basename(one.path)]).map((name) => join(folderOf(one), name))),
  );
  const search: Search = {
    root: folder,
    isDefault,
    since,
    isOver,
    queue: createPriorityQueue<Entered>((a, b) => b.changedMs - a.changedMs || (a.path < b.path ? -1 : 1)),
    isTaken: (path) => folders.has(path) || files.has(path),
    files: [],
    small: { files: 0, first: "" },
    notEntered: new Map(),
    left: MOST_LOOKED_AT,
  };
  const mostFolders = isOver ? MOST_FOLDERS.atEnd : MOST_FOLDERS.each;
  let entered = 0;
  await enter(search, { path: folder, level: 0, apart: null, changedMs: 0 });
  for (let next = search.queue.take(); next !== undefined; next = search.queue.take()) {
    if (search.left < 0 || next.level > MOST_LEVELS_HERE) passOver(search, "files", next.path);
    else if (++entered > mostFolders) passOver(search, "folders", next.path);
    else await enter(search, next);
  }
  const largest = search.files
    .toSorted((a, b) => b.sizeBytes - a.sizeBytes)
    .slice(0, MOST_SHOWN)
    .map(({ path, sizeBytes, apart }) => ({ path: below(search, path), sizeBytes, ...(apart !== null && { apart }) }));
  return {
    files: search.files.length,
    bytes: search.files.reduce((sum, { sizeBytes }) => sum + sizeBytes, 0),
    largest,
    newestMs: search.files.reduce((newest, { mtimeMs }) => Math.max(newest, mtimeMs), 0),
    small: search.small,
    notEntered: [...search.notEntered.values()],
  };
}

const apartBy = (kind: "hidden" | "data" | null, folder: string): Apart | null =>
  kind === null ? null : { kind, folder };

async function enter(search: Search, { path: at, level, apart: above }: Entered): Promise<void> {
  const apart = above ?? (level > MOST_LEVELS ? { kind: "deep" as const, folder: below(search, at) } : null);
  const entries = await readdir(at, { withFileTypes: true }).catch((error: unknown) => {
    if (["EACCES", "EPERM"].includes(codeOf(error) ?? "") && apart === null) passOver(search, "unreadable", at);
    return [];
  });
  if (at !== search.root && entries.some(({ name }) => name === STATE_LOCK)) return;
  const final = new Set(finalModelNames(entries.filter((entry) => entry.isFile()).map(({ name }) => name)));
  const folders = new Map<string, Apart | null>();
  for (const entry of entries) {
    const { name } = entry;
    const path = join(at, name);
    const isHidden = name.startsWith(".");
    const isLeftOut = search.isDefault && at === search.root && NOT_BY_DEFAULT.test(name);
    if (search.isTaken(path) || (isHidden && TOOLS.test(name))) continue;
    if (entry.isDirectory())
      folders.set(name, apart ?? apartBy(isHidden ? "hidden" : isLeftOut ? "data" : null, below(search, path)));
    else if (entry.isSymbolicLink() && apart === null && !isHidden && (await leadsAway(path, search.root)))
      folders.set(name, { kind: "link", folder: below(search, path) });
    if (!entry.isFile() || (isHidden && !isHiddenCheckpoint(name))) continue;
    if (apart !== null && !isHidden && !isSaved(below(search, path), apart)) continue;
    if (mayLieBeside(name) || (at === search.root && final.has(name))) continue;
    await addFile(search, path, apart ?? (isHidden ? { kind: "dot", folder: below(search, at) } : null));
  }
  const names = [...folders.keys()];
  for (const [index, facts] of (await factsOfFolders(at, names)).entries()) {
    const name = names[index] ?? "";
    if (facts === null) continue;
    search.queue.add({ path: join(at, name), level: level + 1, apart: folders.get(name) ?? null, ...facts });
  }
}

async function addFile(search: Search, path: string, apart: Apart | null): Promise<void> {
  const name = basename(path);
  if (contentEvidenceOf([{ relative: name, sizeBytes: 1 }]) === "text" || --search.left < 0) return;
  const stats = await stat(path).catch(() => null);
  if (stats === null || stats.mtimeMs < search.since) return;
  const mayBeRenamed = name.startsWith(".") && !search.isOver && Date.now() - stats.mtimeMs < HIDDEN_QUIET_MS;
  if (mayBeRenamed) return;
  if (stats.size >= LEAST_BYTES || isToldThoughSmall(name.replace(/^\./, "")))
    search.files.push({ path, sizeBytes: stats.size, mtimeMs: stats.mtimeMs, apart });
  else if (apart === null && search.small.files++ === 0) search.small.first = below(search, path);
}

/** Returns the files in words: `notes.bin (2 GB) and 3 more (2.1 GB together)`. */
export function untakenWords(untaken: Untaken): string {
  const { files, bytes, largest, small } = untaken;
  const [first] = largest;
  if (first === undefined) return small.files === 0 ? "no file" : smallWords(untaken);
  const name = `${visibleText(first.path)} (${formatBytes(first.sizeBytes)})`;
  const named = files === 1 ? name : `${name} and ${formatCount(files - 1)} more (${formatBytes(bytes)} together)`;
  return small.files === 0 ? named : `${named}, and ${smallWords(untaken)}`;
}

/** Returns the number of small files in words: `3 files below 1 KiB (the first: run_id)`. */
export function smallWords({ small }: Pick<Untaken, "small">): string {
  const name = visibleText(small.first);
  return small.files === 1
    ? `one file below 1 KiB (${name})`
    : `${formatCount(small.files)} files below 1 KiB (the first: ${name})`;
}

/** Returns the folder that is not looked into in which the largest file lies; null: it lies in none. */
export const apartOf = ({ largest }: Pick<Untaken, "largest">): Apart | null => largest[0]?.apart ?? null;

/** Returns why the largest file is not taken. */
export function untakenReason(untaken: Pick<Untaken, "largest">): string {
  const apart = apartOf(untaken);
  if (apart === null) return "no checkpoint format and no checkpoint beside it";
  if (apart.kind === "dot") return "a hidden file counts as not finished until it is renamed";
  const which = {
    hidden: "a hidden folder",
    link: "a linked folder",
    deep: "a folder below many others",
    data: "a folder of data or tools",
  }[apart.kind];
  return `${which} is not looked into unless it is watched itself`;
}

/** Returns Faults about the folders that were not looked into: one about the watched folder, and one about what may not be read. */
export function notEnteredFaults(folder: string, { notEntered }: Pick<Untaken, "notEntered">): Fault[] {
  const refused = (subject: string, detail: string) => new Fault("NO_CHECKPOINT", { op: "capture", subject, detail });
  const tooMany = notEntered.filter(({ why }) => why !== "unreadable").map(tooManyWords);
  const unreadable = notEntered.find(({ why }) => why === "unreadable");
  return [
    // By the watched folder: the first of the others differs from look to look, and would be told anew each time.
    ...(tooMany.length === 0 ? [] : [refused(folder, tooMany.join("; "))]),
    ...(unreadable === undefined ? [] : [refused(join(folder, unreadable.path), unreadableWords(unreadable))]),
  ];
}

function tooManyWords({ why, path, others }: NotEntered): string {
  const these = others === 0 ? visibleText(path) : `${visibleText(path)} and ${formatCount(others)} more`;
  return why === "folders"
    ? `more folders than one look enters: those that held checkpoints and those that changed last are looked into each time, the others (now ${these}) in turn, so a checkpoint there may be captured minutes late: watch the folder of the checkpoints itself`
    : `more files, or deeper folders, than are searched for what is in no checkpoint: such files in ${these} are not named`;
}

const unreadableWords = ({ others }: NotEntered): string =>
  `the user of this worker may not read this folder${others === 0 ? "" : `, nor ${formatCount(others)} more`}, so what lies in it is unknown and not kept`;
