import type { Dirent } from "node:fs";
import { readdir, readFile } from "node:fs/promises";
import { basename, dirname, join } from "node:path";
import { isModelName, readFileName } from "#protocol/recognition/checkpoint-file-names.ts";
import type { LocalAside } from "#protocol/local-api/local.ts";
import { isPointerName } from "#protocol/checkpoint/place.ts";
import { crc32Hex } from "#storage/checksums/crc32.ts";
import { removeEmptyFolder, removeOwned, renameOwned } from "#worker/base/disk/change-disk.ts";
import { isThere } from "#worker/base/disk/is-there.ts";
import { nameBeside } from "#worker/base/disk/name-beside.ts";
import { codeOf, diskFault } from "#worker/base/disk-fault.ts";
import { fileSetsOf } from "#worker/capture/detection/file-sets.ts";
import type { SavedFile } from "#worker/capture/detection/group-by-step.ts";
import { contentOf } from "#worker/capture/ledger-books.ts";
import { fingerprintOf, lookAt, type LookedFile } from "#worker/capture/detection/look.ts";
import type { Stored } from "../confirm-stored.ts";
import { makeFolders } from "./make-folders.ts";

/**
 * Moves a folder or file out of a program's sight without deleting it: hidden, beside its old path. A person removes it;
 * `tidemark status` lists it. Only content that the bucket holds byte for byte, as the hub says now, is removed without a
 * person.
 */
const ASIDE = ".set-aside-";
/** Marks a checkpoint whose own files show that it is not finished. */
const UNFINISHED = "unfinished-";

/**
 * accelerate takes every name in its folder `checkpoints` for a checkpoint, hidden ones too (`load_state`, `save_state` with
 * `total_limit`). A checkpoint that is set aside there goes into `.set-aside-checkpoints` beside that folder, under its own
 * name.
 */
const LISTED_WHOLE = "checkpoints";
const AUTOMATIC_NAME = /^checkpoint_\d+$/;
const OUTSIDE = `${ASIDE}${LISTED_WHOLE}`;

/** Something that was moved out of a program's sight. */
export interface Aside extends LocalAside {
  /** Fingerprint under its first name; null for a link, for what cannot be read, and for what a capture keeps only in part. */
  fingerprint: string | null;
  /** For a file: its look under its first name. */
  file?: LookedFile;
}

/** Sets a checkpoint aside. Returns the new path. Faults: WRITE_FAILED, NO_SPACE. */
export async function setAside(path: string, how: { isTorn: boolean }): Promise<string> {
  try {
    return await moveTo(path, { target: path, mark: how.isTorn ? UNFINISHED : "" });
  } catch (error) {
    if (codeOf(error) === "ENOENT") return besideOf(path, how.isTorn ? UNFINISHED : "");
    throw diskFault(error, { op: "run", subject: path, otherwise: "WRITE_FAILED" });
  }
}

/** Sets `path` aside beside `target`, its former name. Returns the new path. */
export const keepAs = (path: string, target: string): Promise<string> => moveTo(path, { target, mark: "" });

/** Room for the mark of one that was set aside again. */
const AGAIN_BYTES = ".again-9999".length;

const besideOf = (target: string, mark: string): string =>
  nameBeside(target, { before: `${ASIDE}${mark}`, roomBytes: AGAIN_BYTES });

/** Moves it to a free name. Returns the new path. */
async function moveTo(path: string, { target, mark }: { target: string; mark: string }): Promise<string> {
  if (basename(dirname(target)) === LISTED_WHOLE && AUTOMATIC_NAME.test(basename(target))) {
    const outside = await moveOutside(path, join(dirname(dirname(target)), OUTSIDE), `${mark}${basename(target)}`);
    if (outside !== null) return outside;
  }
  const place = await freePlace(besideOf(target, mark));
  await renameOwned("set-aside", path, place);
  return place;
}

/** Returns null when the folder above is on another disk or may not be written: then it has to stay beside its old path. */
async function moveOutside(path: string, folder: string, name: string): Promise<string | null> {
  try {
    if (!(await isThere(folder))) await makeFolders({ base: dirname(folder), folder });
    const place = await freePlace(join(folder, name));
    await renameOwned("set-aside", path, place);
    return place;
  } catch (error) {
    await removeEmptyFolder("set-aside", folder).catch(() => undefined);
    if (["EXDEV", "EACCES", "EPERM", "EROFS"].includes(codeOf(error) ?? "")) return null;
    throw error;
  }
}

async function freePlace(requested: string): Promise<string> {
  for (let count = 1; ; count++) {
    const place = count === 1 ? requested : `${requested}.again-${count}`;
    if (!(await isThere(place))) return place;
  }
}

const nameOf = (place: string): string =>
  (place.startsWith(UNFINISHED) ? place.slice(UNFINISHED.length) : place).replace(/\.again-\d+$/, "");

const MOST_POINTER_BYTES = 64 * 1024;

async function pointerContent(path: string): Promise<string> {
  const bytes = await readFile(path);
  return contentOf(crc32Hex(bytes), bytes.length);
}

const NOTHING_SEEN = { files: [], leftOut: [], special: [], sizeBytes: 0, newestMs: 0, fingerprint: null };

/** As deep as the search for checkpoints goes, and as many folders as its first walk enters. */
const MOST_LEVELS = 6;
const MOST_FOLDERS = 20_000;

/**
 * Returns what lies set aside in a watched folder and below it, by path; nothing if the folder does not exist. Faults:
 * READ_FAILED.
 */
export async function listAside(folder: string): Promise<Aside[]> {
  const found: Aside[] = [];
  let folders = 0;
  const enter = async (at: string, below: string, level: number): Promise<void> => {
    if (++folders > MOST_FOLDERS) return;
    const entries = await readdir(at, { withFileTypes: true });
    found.push(...(await asideAmong(entries, { at, below, prefix: ASIDE })));
    for (const entry of entries) {
      const path = join(at, entry.name);
      if (entry.name === OUTSIDE) await addOutside(path, `${below}${LISTED_WHOLE}/`);
      if (!entry.isDirectory() || entry.name.startsWith(".") || level === MOST_LEVELS) continue;
      // One folder that is gone or may not be read must not hide the others.
      await enter(path, `${below}${entry.name}/`, level + 1).catch(() => undefined);
    }
  };
  const addOutside = async (at: string, below: string) => {
    const entries = await readdir(at, { withFileTypes: true }).catch(() => []);
    found.push(...(await asideAmong(entries, { at, below, prefix: "" })));
  };
  try {
    if (basename(folder) === LISTED_WHOLE) await addOutside(join(dirname(folder), OUTSIDE), "");
    await enter(folder, "", 0);
  } catch (error) {
    if (codeOf(error) !== "ENOENT") throw diskFault(error, { op: "run", subject: folder, otherwise: "READ_FAILED" });
  }
  return found.sort((a, b) => (a.path < b.path ? -1 : 1));
}

/** Returns the entries that were set aside. `below`: path of their former folder, from the watched folder. */
async function asideAmong(
  entries: readonly Dirent[],
  { at, below, prefix }: { at: string; below: string; prefix: string },
): Promise<Aside[]> {
  const found: Aside[] = [];
  for (const entry of entries) {
    if (!entry.name.startsWith(prefix) || entry.name === OUTSIDE) continue;
    const path = join(at, entry.name);
    const kind = entry.isDirectory() ? "folder" : "file";
    const name = `${below}${nameOf(entry.name.slice(prefix.length))}`;
    // An entry that cannot be read is listed anyway, and never removed.
    const look = await lookAt({ path, kind }).catch(() => NOTHING_SEEN);
    if (look === null) continue;
    const { files, sizeBytes, newestMs: writtenAt } = look;
    // The bucket has none of what a capture leaves out, so such an entry is never removed.
    const isWhole = look.leftOut.length + look.special.length === 0;
    const shown = { path, name, sizeBytes, files: files.length, writtenAt };
    const [first] = files;
    if (kind === "folder") found.push({ ...shown, fingerprint: isWhole ? look.fingerprint : null });
    else if (first === undefined || !entry.isFile()) found.push({ ...shown, fingerprint: null });
    else {
      // The fingerprint of a file contains its name, which is another one now.
      const file = { ...first, relative: basename(name) };
      const isPointer = isPointerName(file.relative) && sizeBytes <= MOST_POINTER_BYTES;
      const content = isPointer ? await pointerContent(path).catch(() => null) : null;
      found.push({ ...shown, fingerprint: content ?? fingerprintOf([file]), file });
    }
  }
  return found;
}

const MOST_LISTED = 64;

/** Returns what lies set aside in several folders, at most 64; a folder that cannot be read is passed over. */
export async function listAllAside(folders: Iterable<string>): Promise<LocalAside[]> {
  const all: LocalAside[] = [];
  for (const folder of folders) {
    const found = await listAside(folder).catch(() => []);
    for (const { path, name, sizeBytes, files, writtenAt } of found)
      all.push({ path, name, sizeBytes, files, writtenAt });
  }
  return all.slice(0, MOST_LISTED);
}

/**
 * Removes folders and files that an earlier start set aside and that the bucket holds byte for byte, as a checkpoint that is
 * complete now. Files of one step are stored together, so they are removed together. Returns the removed paths. Faults:
 * READ_FAILED, WRITE_FAILED.
 */
export async function removeStoredAside(folder: string, stored: Stored): Promise<string[]> {
  const all = await listAside(folder);
  const storedAs = new Map<Aside, string>();
  const note = (members: readonly Aside[], checkpointId: string | null) => {
    if (checkpointId !== null) for (const one of members) storedAs.set(one, checkpointId);
  };
  for (const { first, members, fingerprint } of setsAmong(all))
    note(members, stored.storedAs(join(folder, first), fingerprint));
  for (const one of all) {
    const { name, files, fingerprint } = one;
    if (files > 0 && fingerprint !== null) note([one], stored.storedAs(join(folder, name), fingerprint));
  }
  if (storedAs.size === 0) return [];
  const complete = await stored.confirm([...new Set(storedAs.values())]);
  // During the hub's answer somebody may have written to them; such entries stay.
  const now = new Map((await listAside(folder)).map(({ path, fingerprint }) => [path, fingerprint]));
  const removed: string[] = [];
  for (const [one, checkpointId] of storedAs) {
    const { path } = one;
    if (!complete.has(checkpointId) || now.get(path) !== one.fingerprint) continue;
    try {
      await removeOwned("set-aside", path);
      const outside = dirname(path);
      if (basename(outside) === OUTSIDE) await removeEmptyFolder("set-aside", outside).catch(() => undefined);
    } catch (error) {
      throw diskFault(error, { op: "run", subject: path, otherwise: "WRITE_FAILED" });
    }
    removed.push(path);
  }
  return removed;
}

/** Returns the files that formed one checkpoint under their first names, when there are several. */
function setsAmong(all: readonly Aside[]): { first: string; members: Aside[]; fingerprint: string }[] {
  const together = Map.groupBy(
    all.filter(({ file }) => file !== undefined),
    // An entry that was set aside twice has a number behind its name.
    ({ path, name }) => JSON.stringify([dirname(path), dirname(name), /\.again-\d+$/.exec(path)?.[0] ?? ""]),
  );
  return [...together.values()].flatMap((members) => {
    const byName = new Map(members.map((one) => [basename(one.name), one]));
    const sets = fileSetsOf([...byName].flatMap(([name, { file }]) => savedFile(name, file)));
    return sets.flatMap(({ names }) => {
      const [first, second] = names;
      const own = names.flatMap((name) => byName.get(name) ?? []);
      const files = own.flatMap(({ file }) => file ?? []).toSorted((a, b) => (a.relative < b.relative ? -1 : 1));
      const shown = first === undefined ? undefined : byName.get(first);
      return second === undefined || shown === undefined
        ? []
        : [{ first: shown.name, members: own, fingerprint: fingerprintOf(files) }];
    });
  });
}

function savedFile(name: string, file: LookedFile | undefined): SavedFile[] {
  const read = readFileName(name);
  if (read === null || file === undefined) return [];
  return [{ name, read, isModel: isModelName(name), mtimeMs: file.mtimeMs, inside: null, isKnown: isModelName(name) }];
}
