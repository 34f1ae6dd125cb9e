import { constants } from "node:fs";
import { chmod, lchown, lstat, mkdir, open, readdir } from "node:fs/promises";
import { dirname, join } from "node:path";
import type { StoredManifest } from "#protocol/checkpoint/adopted.ts";
import { folderModesOf, modesOf, type FileAttributes } from "#protocol/checkpoint/file-attributes.ts";
import { setDate } from "#worker/base/disk/set-date.ts";
import { codeOf } from "#worker/base/disk-fault.ts";
import { otherOwnerOf, type OnRefused, type Owner } from "./owner.ts";
import { FOLDER_MODE, placeUnder } from "./safe-place.ts";

type Attributed = Pick<StoredManifest, "files"> & { attributes?: FileAttributes | undefined };

/** Bit that lets every user write. It is never restored, because the manifest comes from another node. */
const OTHERS_WRITE = 0o002;

/**
 * Sets the modes of restored files, and creates the folders that were empty. `paths`: the restored files; null: all
 * files of the checkpoint. A disk without modes keeps the files as they are. Never throws.
 */
export async function giveModes(
  staging: string,
  { files, attributes }: Attributed,
  { paths, onRefused }: { paths: ReadonlySet<string> | null; onRefused?: OnRefused | undefined },
): Promise<void> {
  if (attributes === undefined) return;
  const modeOf = modesOf(attributes);
  for (const [index, { path }] of files.entries()) {
    if (paths !== null && !paths.has(path)) continue;
    const place = placeUnder(staging, path);
    await chmod(place, modeOf(index) & ~OTHERS_WRITE).catch((error: unknown) => {
      const code = codeOf(error) ?? "EIO";
      // A file that the disk cannot name was left out.
      if (code !== "ENOENT") onRefused?.({ what: "modes", path: place, code, owner: null });
    });
  }
  if (paths !== null) return;
  for (const folder of attributes.emptyFolders)
    await mkdir(placeUnder(staging, folder), { recursive: true, mode: FOLDER_MODE }).catch(() => undefined);
}

/** Returns the time of a checkpoint, epoch ms: that of its newest file. */
export const dateOf = ({ files }: Pick<StoredManifest, "files">): number =>
  files.reduce((newest, { mtimeMs }) => Math.max(newest, mtimeMs), 0);

/**
 * Sets dates and modes of staged folders, lets other users enter the outermost one, and gives everything to the owner
 * of the target's folder. Only `lockFolders` comes later. Never throws.
 */
export async function giveDatesAndOwner(
  staging: string,
  { dateMs, attributes, onRefused }: { dateMs: number } & FolderAttributes,
): Promise<void> {
  await setFolderDates(staging, dateMs);
  const modeOf = attributes === undefined ? null : folderModesOf(attributes);
  if (modeOf !== null) {
    // Modes do not restrict root. Another user needs its own permissions until the folder is in place, also after a
    // kill.
    const kept = process.getuid?.() === 0 ? 0 : OWN_BITS;
    await giveFolderModes(staging, { modeOf: (path) => modeOf(path) | kept, onRefused });
  } else
    await openToOthers(staging).catch((error: unknown) =>
      onRefused?.({ what: "modes", path: staging, code: codeOf(error) ?? "EIO", owner: null }),
    );
  await giveToOwner(staging, onRefused);
}

/**
 * Removes permissions from folders that are in place: those that their own user did not have, which `giveDatesAndOwner`
 * leaves. No file can be added to them afterwards. Never throws.
 */
export async function lockFolders(target: string, { attributes, onRefused }: FolderAttributes): Promise<void> {
  const modeOf = attributes === undefined ? null : folderModesOf(attributes);
  if (modeOf === null || process.getuid?.() === 0) return;
  await giveFolderModes(target, { modeOf, onRefused });
}

interface FolderAttributes {
  attributes?: FileAttributes | undefined;
  onRefused?: OnRefused | undefined;
}

/** Read, write and execute bits of the owner. */
const OWN_BITS = 0o700;

/** Gives a folder and those below it their modes, the innermost first. */
async function giveFolderModes(
  root: string,
  { modeOf, onRefused }: { modeOf(path: string): number; onRefused?: OnRefused | undefined },
): Promise<void> {
  const give = async (path: string, below: string): Promise<void> => {
    for (const entry of await readdir(path, { withFileTypes: true }).catch(() => []))
      if (entry.isDirectory()) await give(join(path, entry.name), below === "" ? entry.name : `${below}/${entry.name}`);
    await setFolderMode(path, modeOf(below)).catch((error: unknown) =>
      onRefused?.({ what: "modes", path, code: codeOf(error) ?? "EIO", owner: null }),
    );
  };
  await give(root, "");
}

/** Changes a mode if necessary. Keeps the set-group-ID bit, which a folder inherits from its parent. */
async function setFolderMode(path: string, wanted: number): Promise<void> {
  const folder = await openFolder(path);
  try {
    const { mode } = await folder.stat();
    const next = (mode & 0o7000) | (wanted & ~OTHERS_WRITE);
    if (next !== (mode & 0o7777)) await folder.chmod(next);
  } finally {
    await folder.close();
  }
}

/**
 * Sets the date of each folder to that of its newest file, because programs look for the newest folder by date. A
 * folder without files gets `dateMs`, the date of the checkpoint. Returns the date of the newest file, epoch ms; 0
 * without files. Never throws.
 */
async function setFolderDates(folder: string, dateMs: number): Promise<number> {
  let newestMs = 0;
  for (const entry of await readdir(folder, { withFileTypes: true }).catch(() => [])) {
    const path = join(folder, entry.name);
    const ownMs = entry.isDirectory()
      ? await setFolderDates(path, dateMs)
      : ((await lstat(path).catch(() => null))?.mtimeMs ?? 0);
    newestMs = Math.max(newestMs, ownMs);
  }
  const ownMs = newestMs > 0 ? newestMs : dateMs;
  if (ownMs > 0) await setDate(folder, ownMs);
  return newestMs;
}

/**
 * Gives files that root restores to the owner and group of the parent folder; otherwise their program could not rotate
 * them. Nobody else can write to the staging folder until its own owner changes, which comes last. Works through the
 * open folder, because its name could be replaced by a link. Never throws.
 */
export async function giveToOwner(staging: string, onRefused?: OnRefused): Promise<void> {
  const owner = await otherOwnerOf(dirname(staging));
  if (owner === null) return;
  const refuse = (code: string) => onRefused?.({ what: "owner", path: staging, code, owner });
  await giveFolder(staging, { ownerOf: () => owner, refuse, isWhole: true });
}

/**
 * Does the same for files that go beside the checkpoint, and leaves the folders in which they wait to root. `owners`: by the path
 * in `parts`. No faults.
 */
export async function giveBesideToOwners(
  parts: string,
  { owners, onRefused }: { owners: ReadonlyMap<string, Owner>; onRefused?: OnRefused | undefined },
): Promise<void> {
  if (owners.size === 0) return;
  const refuse = (code: string, owner: Owner) => onRefused?.({ what: "owner", path: parts, code, owner });
  await giveFolder(parts, { ownerOf: (path) => owners.get(path) ?? null, refuse, isWhole: false });
}

/** Lets other users enter the outermost folder of a checkpoint whose folder modes are unknown. */
const openToOthers = (staging: string): Promise<void> =>
  setFolderMode(staging, OWN_BITS | (FOLDER_MODE & ~process.umask()));

/** Opens a folder, but never through a link. */
const openFolder = (path: string) => open(path, constants.O_RDONLY | constants.O_DIRECTORY | constants.O_NOFOLLOW);

interface Giving {
  /** Returns the owner of a path below the folder; null: the owner stays. */
  ownerOf(path: string): Owner | null;
  refuse(code: string, owner: Owner): void;
  /** Whether folders are given too. */
  isWhole: boolean;
}

async function giveFolder(path: string, giving: Giving, below = ""): Promise<void> {
  const { ownerOf, refuse, isWhole } = giving;
  const own = ownerOf(below);
  const give = async (owner: Owner | null, change: (uid: number, gid: number) => Promise<void>) => {
    if (owner === null) return;
    await change(owner.uid, owner.gid).catch((error: unknown) => refuse(codeOf(error) ?? "EIO", owner));
  };
  const folder = await openFolder(path).catch(() => null);
  if (folder === null) return;
  try {
    const { uid } = await folder.stat();
    if (uid !== 0) {
      if (own !== null && uid !== own.uid) refuse("EPERM", own);
      return;
    }
    const inside = `/proc/self/fd/${folder.fd}`;
    for (const entry of await readdir(inside, { withFileTypes: true }).catch(() => [])) {
      const at = join(inside, entry.name);
      const name = join(below, entry.name);
      if (entry.isDirectory()) await giveFolder(at, giving, name);
      else await give(ownerOf(name), (owner, group) => lchown(at, owner, group));
    }
    if (isWhole) await give(own, (owner, group) => folder.chown(owner, group));
  } finally {
    await folder.close();
  }
}
