import { constants, existsSync } from "node:fs";
import { lstat, lutimes, mkdir, open, readdir, type FileHandle } from "node:fs/promises";
import { join, relative, sep } from "node:path";
import * as z from "zod";
import { Fault } from "#protocol/faults/fault.ts";
import { removeOwned } from "#worker/base/disk/change-disk.ts";
import { codeOf } from "#worker/base/disk-fault.ts";
import { openJournal, readJournal } from "#worker/base/journal.ts";
import { nearestExisting, otherOwner, type OnRefused, type Owner } from "./owner.ts";

/** Where folders are made: `base` exists, and those between it and `folder` that are missing are made. */
interface Wanted {
  base: string;
  folder: string;
  /** Returns whether an earlier process of the same restore made, or was about to make, the folder. */
  isOurs?(path: string): boolean;
  onRefused?: OnRefused | undefined;
}

/** Access for everybody is never given, whatever the umask of this process is. */
const MODE = 0o775;

/**
 * Makes folders below `base`, never through a link. When this process is root, each gets the owner and group of the nearest
 * folder that was there before. Returns the new folders, outermost first. Faults: HOSTILE_NAME; errors of the disk.
 */
export async function makeFolders(wanted: Wanted): Promise<string[]> {
  const names = relative(wanted.base, wanted.folder)
    .split(sep)
    .filter((name) => name !== "");
  if (names.length === 0) return [];
  return process.getuid?.() === 0 && existsSync("/proc/self/fd") ? makeAsRoot(wanted, names) : makeHere(wanted, names);
}

async function makeHere({ base, isOurs }: Wanted, names: readonly string[]): Promise<string[]> {
  const made: string[] = [];
  let at = base;
  for (const name of names) {
    at = join(at, name);
    const isNew = await makeOne(at);
    if (!isNew && !(await lstat(at)).isDirectory()) throw inTheWay(at);
    if (isNew || isOurs?.(at) === true) made.push(at);
  }
  return made;
}

/**
 * Makes one folder after the other, each in the open one before it: the owner of a folder above may exchange their names for
 * links at any moment.
 */
async function makeAsRoot({ base, isOurs, onRefused }: Wanted, names: readonly string[]): Promise<string[]> {
  const made: string[] = [];
  let path = base;
  let parent = await open(base, constants.O_RDONLY | constants.O_DIRECTORY);
  try {
    let owner = otherOwner(await parent.stat());
    for (const name of names) {
      path = join(path, name);
      const inside = `/proc/self/fd/${parent.fd}/${name}`;
      const isNew = await makeOne(inside);
      const next = await openPlain(inside, path);
      await parent.close();
      parent = next;
      if (isNew || isOurs?.(path) === true) {
        made.push(path);
        if (owner !== null) await giveFresh(parent, { path, owner, onRefused });
      } else owner = otherOwner(await parent.stat());
    }
  } finally {
    await parent.close();
  }
  return made;
}

/** Returns whether the folder is new. */
const makeOne = (path: string): Promise<boolean> =>
  mkdir(path, { mode: MODE }).then(
    () => true,
    (error: unknown) => {
      if (codeOf(error) === "EEXIST") return false;
      throw error;
    },
  );

const inTheWay = (path: string): Fault =>
  new Fault("HOSTILE_NAME", { op: "restore", subject: path, detail: "a link or a file is in the way" });

async function openPlain(inside: string, path: string): Promise<FileHandle> {
  try {
    return await open(inside, constants.O_RDONLY | constants.O_DIRECTORY | constants.O_NOFOLLOW);
  } catch (error) {
    throw codeOf(error) === "ELOOP" || codeOf(error) === "ENOTDIR" ? inTheWay(path) : error;
  }
}

/**
 * Gives away a folder that this restore made. One that is another's, or has something in it, has taken its place since and is
 * left alone; so is one on a disk where root has no rights (NFS with root_squash).
 */
async function giveFresh(
  folder: FileHandle,
  { path, owner, onRefused }: { path: string; owner: Owner; onRefused: OnRefused | undefined },
): Promise<void> {
  const { uid, gid } = await folder.stat();
  if (uid === owner.uid && gid === owner.gid) return;
  const refuse = (code: string) => onRefused?.({ what: "owner", path, code, owner });
  if (uid !== 0) return refuse("EPERM");
  if ((await readdir(`/proc/self/fd/${folder.fd}`)).length > 0) return;
  await folder.chown(owner.uid, owner.gid).catch((error: unknown) => refuse(codeOf(error) ?? "EIO"));
}

/** Folders that one restore makes outside of its staging folder. A journal keeps them, for a restore that is continued. */
export interface MadeFolders {
  /** Makes a folder, and those above it that are missing. Faults: HOSTILE_NAME, NO_SPACE, WRITE_FAILED; errors of the disk. */
  makeAll(folder: string): Promise<void>;
  /** Makes the folders between `root`, which exists, and `folder`. Faults: the same. */
  makeBelow(root: string, folder: string): Promise<void>;
  /** Gives all of them this date (epoch ms), deepest first. No faults. */
  setDates(ms: number): Promise<void>;
  /** Removes the journal. */
  forget(): Promise<void>;
}

const record = z.object({ folder: z.string() });

/** Reads the journal of an earlier process; a new one is written before the first folder is made. Faults: READ_FAILED. */
export async function openMadeFolders(journal: string, onRefused?: OnRefused): Promise<MadeFolders> {
  const noted = new Set((await readJournal(journal, record)).map(({ folder }) => folder));
  const made = new Set<string>();
  const isOurs = (path: string) => noted.has(path);
  const make = async (base: string, folder: string) => {
    const missing = foldersBelow(await nearestExisting(folder), folder).filter((path) => !noted.has(path));
    if (missing.length > 0) {
      const written = await openJournal(journal, record);
      try {
        await written.appendAll(missing.map((path) => ({ folder: path })));
      } finally {
        await written.close();
      }
    }
    const fresh = await makeFolders({ base, folder, isOurs, onRefused });
    for (const path of fresh) made.add(path);
  };
  return {
    makeAll: async (folder) => make(await nearestExisting(folder, isOurs), folder),
    makeBelow: make,
    setDates: async (ms) => {
      for (const path of [...made].toSorted((a, b) => b.length - a.length))
        await lutimes(path, ms / 1000, ms / 1000).catch(() => undefined);
    },
    forget: () => removeOwned("journal", journal),
  };
}

/** Returns the folders between `base` and `folder`, outermost first, with the latter. */
function foldersBelow(base: string, folder: string): string[] {
  const names = relative(base, folder)
    .split(sep)
    .filter((name) => name !== "");
  return names.map((_, index) => join(base, ...names.slice(0, index + 1)));
}
