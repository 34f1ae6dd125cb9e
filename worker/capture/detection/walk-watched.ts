import { realpath, stat } from "node:fs/promises";
import { dirname, join, sep } from "node:path";
import { isFrameworkFile, isWeightsName } from "#protocol/recognition/checkpoint-evidence.ts";
import { isModelName, readFileName, type FileName } from "#protocol/recognition/checkpoint-file-names.ts";
import { dateIn, isTemporaryName, stepOf } from "#protocol/recognition/checkpoint-layouts.ts";
import { codeOf, diskFault } from "#worker/base/disk-fault.ts";
import { FINAL, fileSetsOf } from "./file-sets.ts";
import type { SavedFile } from "./group-by-step.ts";
import { finalModelNames, type FinalBelow } from "./final-model.ts";
import { stepOfNamed, type Candidate, type NamePattern } from "./find.ts";
import { insideOf, newestTime, stepInPlace, type Inside } from "./inside/inside-of.ts";
import { isCheckpointFolder, judgeFolder } from "./judge-folder.ts";
import { factsOfFolders, listFolder, type FolderFacts, type Listing } from "./list-folder.ts";
import { createWalkOrder, type FoundFolder, type WalkOrder } from "./walk-order.ts";

/**
 * Finds checkpoints in a watched folder and below it. The work of a walk is bounded by levels, folders and names (see
 * `walk-order`), and a folder that did not change is not listed again.
 */
export interface Finder {
  /** Returns candidates, lowest step first, perhaps from an earlier walk. Faults: READ_FAILED. */
  find(): Promise<Candidate[]>;
  /** Returns the same from a walk that is made now. Faults: READ_FAILED. */
  findAnew(): Promise<Candidate[]>;
  /** Returns the weights without a training state that the last walk found: below the folder, and stripped ones in it. */
  finals(): readonly FinalBelow[];
  /** Returns whether the last walk took this file for a checkpoint, or for the first file of one. */
  holds(path: string): boolean;
  /** Returns a finder that has found nothing yet, and knows which folders held checkpoints. */
  again(): Finder;
}

/** Levels of folders below the watched one that are entered. */
export const MOST_LEVELS = 6;

/** Folders of tools, in which nobody keeps checkpoints. */
const NEVER_ENTERED = /^(__pycache__|node_modules|site-packages|lost\+found|wandb)$/;
/** Folders of data, tools and copies. They are not entered in a working folder that nobody named. */
export const NOT_BY_DEFAULT = /^(data|datasets?|cache|env|venv|restored)$/i;
/** File of every state folder of a worker, which holds captures. */
export const STATE_LOCK = "worker.lock";
/** How a folder is watched. */
export interface Watched {
  folder: string;
  followsLinks?: boolean;
  /** Nobody named the folder: it is the working folder of the program. */
  isDefault?: boolean;
}
/** Walks take a fiftieth of the time at most, and are put off no longer than `MOST_REST_MS`. */
const REST_PER_WALK = 50;
const MOST_REST_MS = 30_000;
/** A shorter walk is not worth saving. */
const SHORT_WALK_MS = 10;
/**
 * On a busy machine one walk takes many times its cost: the shortest of the last ones counts. With fewer walks rests stay
 * short.
 */
const WALKS_COMPARED = 3;
const UNSURE_REST_MS = 2_000;

/** Returns for how long a folder is not walked again, by what its last walks took (ms, oldest first). */
export function restAfter(walks: readonly number[]): number {
  const shortestMs = Math.min(...walks);
  if (shortestMs < SHORT_WALK_MS) return 0;
  return Math.min(walks.length < WALKS_COMPARED ? UNSURE_REST_MS : MOST_REST_MS, shortestMs * REST_PER_WALK);
}

export function createFinder(
  watched: Watched,
  takes: NamePattern | null,
  order: WalkOrder = createWalkOrder(watched.folder),
): Finder {
  const { folder, followsLinks = false, isDefault = false } = watched;
  const links = { root: folder, followsAll: followsLinks };
  const listings = new Map<string, Listing>();
  const insides = new Map<string, Inside>();
  let last: { found: Candidate[]; until: number } | null = null;
  let walks: number[] = [];
  let finals: readonly FinalBelow[] = [];
  const findAnew = async () => {
    const startedAt = performance.now();
    const walk: Walk = {
      root: folder,
      isDefault,
      takes,
      order,
      found: [],
      finals: [],
      keras: [],
      states: [],
      listings,
      insides,
      seen: new Set<string>(),
    };
    try {
      order.begin();
      await enter(walk, await listSeen(walk, folder), { path: folder, level: 0 });
      for (let next = order.next(); next !== null; next = order.next()) await lookInto(walk, next);
      await addStates(walk);
    } catch (error) {
      const fault = diskFault(error, { op: "watch", subject: folder, otherwise: "READ_FAILED" });
      if (fault.context.detail !== "ENOENT") throw fault;
    }
    const held = [...walk.found, ...walk.states, ...walk.finals].map(({ path }) => path);
    order.end([...held, ...walk.keras.map(({ folder: path }) => path)]);
    for (const path of listings.keys()) if (!walk.seen.has(path)) listings.delete(path);
    for (const path of insides.keys()) if (!walk.seen.has(path)) insides.delete(path);
    const found = walk.found
      .map((one) => ({ ...one, links }))
      .sort((a, b) => a.step - b.step || (a.path < b.path ? -1 : 1));
    finals = walk.finals;
    walks = [...walks, performance.now() - startedAt].slice(-WALKS_COMPARED);
    last = { found, until: startedAt + restAfter(walks) };
    return found;
  };
  return {
    finals: () => finals,
    holds: (path) => last?.found.some((one) => one.path === path) === true,
    again: () => createFinder(watched, takes, order.again()),
    findAnew,
    find: async () => (last !== null && performance.now() < last.until ? last.found : findAnew()),
  };
}

interface Walk {
  root: string;
  isDefault: boolean;
  takes: NamePattern | null;
  found: Candidate[];
  finals: FinalBelow[];
  /** Folders with files of Keras' `model.save()`, which are a training state or a final model. */
  keras: { folder: string; names: readonly string[] }[];
  /** Files that only their content shows to be models, and files that are overwritten in place beside numbered ones. */
  states: Candidate[];
  listings: Map<string, Listing>;
  insides: Map<string, Inside>;
  /** Folders and files that still exist. */
  seen: Set<string>;
  order: WalkOrder;
}

/**
 * Returns the checkpoints in a folder and below it, lowest step first; with `takes` only those with such names. A folder that
 * does not exist yet has none. Faults: READ_FAILED.
 */
export const findCandidates = (watched: Watched, takes: NamePattern | null = null): Promise<Candidate[]> =>
  createFinder(watched, takes).find();

/** Judges a folder, and enters it where others may lie below it. One that cannot be read does not keep the others from being found. */
async function lookInto(walk: Walk, folder: FoundFolder): Promise<void> {
  const { path, name, level } = folder;
  try {
    if (!(await addFolder(walk, { path, name, facts: folder })) || level > MOST_LEVELS) return;
    const listing = await listSeen(walk, path, folder);
    // The captures of a worker lie below its state folder; each would be captured again.
    if (listing.files.includes(STATE_LOCK)) return;
    walk.order.entered(folder, listing.folders.length + listing.files.length + listing.links.length);
    await enter(walk, listing, { path, level });
  } catch (error) {
    if (!["ENOENT", "ENOTDIR", "EACCES", "EPERM"].includes(codeOf(error) ?? "")) throw error;
  }
}

/** Adds the checkpoints in a folder, and leaves the folders in it to the order of the walk. */
async function enter(walk: Walk, listing: Listing, { path: folder, level }: { path: string; level: number }) {
  const isLeft = (name: string) =>
    isTemporaryName(name) || NEVER_ENTERED.test(name) || (walk.isDefault && level === 0 && NOT_BY_DEFAULT.test(name));
  const folders = listing.folders.filter((name) => !isLeft(name));
  for (const [at, facts] of (await factsOfFolders(folder, folders)).entries()) {
    const name = folders[at];
    if (facts === null || name === undefined) continue;
    walk.order.add({ path: join(folder, name), name, level: level + 1, ...facts });
  }
  const linked: string[] = [];
  for (const name of listing.links) {
    const kind = await kindOfLink(walk, join(folder, name));
    // A link is followed to a checkpoint, never to a folder in which one might lie.
    if (kind === "folder" && !isTemporaryName(name) && !NEVER_ENTERED.test(name))
      await addFolder(walk, { path: join(folder, name), name, facts: null });
    if (kind === "file") linked.push(name);
  }
  listing.saved ??= savedAmong(walk, listing.files);
  const stripped = await addFiles(walk, folder, [...listing.saved, ...savedAmong(walk, linked)]);
  const keras = listing.files.filter((name) => KERAS_STATE.test(name));
  if (keras.length > 0 && walk.takes === null) walk.keras.push({ folder, names: keras });
  // The weights of `save_pretrained` in the watched folder itself are found without a walk (`findFinalModel`).
  await addFinal(walk, folder, [...(folder === walk.root ? [] : finalModelNames(listing.files)), ...stripped]);
}

/** Names of Keras' `model.save("model.h5")`, with its optimizer, and of weights alone. */
const KERAS_STATE = /^model(\.weights)?\.h5$/;

/**
 * Adds `model.h5` and `model.joblib`, overwritten in place, when there is no checkpoint at all: a program then resumes from
 * them. Beside checkpoints they are the final model, or a part of the program (a scaler).
 */
async function addStates(walk: Walk): Promise<void> {
  if (walk.states.length === 0 && walk.keras.length === 0) return;
  for (const candidate of walk.found) if (await isCheckpoint(walk, candidate)) return;
  walk.found.push(...walk.states);
  for (const { folder, names } of walk.keras) {
    const saved = names.flatMap((name) => {
      const read = readFileName(name);
      return read === null ? [] : [{ name, read }];
    });
    await addFiles(walk, folder, saved);
    walk.finals = walk.finals.filter(({ path }) => path !== folder);
  }
}

/** Returns whether it is a checkpoint. A number in a name is no proof: `samples_10/` and `preds_5.npz` are candidates too. */
async function isCheckpoint({ insides, listings }: Walk, candidate: Candidate): Promise<boolean> {
  const { path, name, kind, isSaverName, names = [name] } = candidate;
  if (isSaverName === true) return true;
  if (kind === "folder") return isCheckpointFolder(path, listings.get(path) ?? null);
  const folder = dirname(path);
  return names.some((one) => isWeightsName(one) || insides.get(join(folder, one))?.isModel === true);
}

async function addFinal(walk: Walk, folder: string, names: readonly string[]): Promise<void> {
  const writtenMs = await newestTime(folder, names);
  if (writtenMs > 0) walk.finals.push({ path: folder, names, writtenMs });
}

async function listSeen(walk: Walk, folder: string, facts: FolderFacts | null = null): Promise<Listing> {
  walk.seen.add(folder);
  return listFolder(walk.listings, folder, facts);
}

/**
 * Returns what a link out of the watched folder leads to. Null for a link to what lies in the folder anyway: it is a label
 * (`checkpoint-best`, `last.ckpt`) and belongs to its target.
 */
async function kindOfLink(walk: Walk, path: string): Promise<"folder" | "file" | null> {
  const target = await realpath(path).catch(() => null);
  const root = await realpath(walk.root).catch(() => walk.root);
  if (target === null || target === root || target.startsWith(root + sep)) return null;
  const stats = await stat(path).catch(() => null);
  return stats === null ? null : stats.isDirectory() ? "folder" : stats.isFile() ? "file" : null;
}

/** Adds a folder where it may be a checkpoint. Returns whether others may lie below it. */
async function addFolder(
  walk: Walk,
  { path, name, facts }: { path: string; name: string; facts: FolderFacts | null },
): Promise<boolean> {
  const { takes } = walk;
  if (takes !== null) {
    const step = stepOfNamed(name, { kind: "folder", takes });
    const isDated = step !== null && dateIn(name) === step;
    if (step !== null)
      walk.found.push({ path, name, step, kind: "folder", ...(isDated && { stepFrom: "time" as const }) });
    return step === null;
  }
  const step = stepOf(name, "folder");
  const inside = await listSeen(walk, path, facts).catch(() => null);
  if (step === null) {
    // Overwritten in place under one name: accelerate's `save_state("state")`.
    const own = (inside?.files ?? []).filter(isFrameworkFile);
    if (own.length === 0) return true;
    walk.found.push({
      path,
      name,
      kind: "folder",
      isSaverName: true,
      ...(await stepInPlace(walk, path, { all: inside?.files ?? [], ofSaver: own })),
    });
    return false;
  }
  const judged = inside === null ? "both" : judgeFolder(name, inside);
  const isDated = dateIn(name) === step;
  if (judged !== "others")
    walk.found.push({ path, name, step, kind: "folder", ...(isDated && { stepFrom: "time" as const }) });
  return judged !== "checkpoint";
}

/** Returns the names of files that may be a checkpoint. Weights under the names of `save_pretrained` are a final model. */
function savedAmong({ takes }: Walk, names: readonly string[]): { name: string; read: FileName }[] {
  const final = new Set(finalModelNames(names));
  return names.flatMap((name) => {
    const read = final.has(name) || isTemporaryName(name) ? null : readWanted(takes, name);
    return read === null ? [] : [{ name, read }];
  });
}

/**
 * Adds the checkpoints among these files. Returns the files that their saver stripped at its end: nothing resumes from them.
 */
async function addFiles(
  walk: Walk,
  folder: string,
  names: readonly { name: string; read: FileName }[],
): Promise<string[]> {
  const files: SavedFile[] = [];
  for (const { name, read } of names) {
    const path = join(folder, name);
    const stats = await stat(path).catch(() => null);
    if (stats === null) continue;
    const { step: inside, isModel } = await insideOf(walk, { path, stats, read });
    files.push({
      name,
      read,
      isModel: walk.takes !== null || isModelName(name) || isModel,
      isKnown: isModel,
      mtimeMs: stats.mtimeMs,
      inside,
    });
  }
  for (const set of fileSetsOf(files)) {
    const { names: own, step, stepFrom, isSaverName, lacks, data } = set;
    const [first, second] = own;
    if (first === undefined) continue;
    const isShownByName =
      walk.takes !== null ||
      (!set.isBesideSteps &&
        (isSaverName || own.some((name) => isWeightsName(name) || readFileName(name)?.step !== null)));
    (isShownByName ? walk.found : walk.states).push({
      path: join(folder, first),
      name: first,
      step,
      ...(stepFrom !== "name" && { stepFrom }),
      kind: second === undefined ? "file" : "files",
      ...(second !== undefined && { names: own }),
      ...(data.length > 0 && { data }),
      ...(isSaverName && { isSaverName }),
      ...(lacks !== null && { lacks }),
      ...(set.isAlone && { isAlone: true }),
      ...(set.mayGrow && { mayGrow: true }),
      ...(set.isAwaited && { isAwaited: true }),
    });
  }
  return files.filter(({ inside }) => inside === FINAL).map(({ name }) => name);
}

/** Reads what a name says; a person's pattern replaces the known names. */
function readWanted(takes: NamePattern | null, name: string): FileName | null {
  if (takes === null) return readFileName(name);
  if (!takes(name)) return null;
  const step = stepOfNamed(name, { kind: "file", takes });
  const from = step === null ? null : dateIn(name) === step ? "date" : "step";
  return { step, from, isSaverName: true };
}
