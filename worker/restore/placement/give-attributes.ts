import { constants } from "node:fs";
import { chmod, lchown, mkdir, open, readdir, stat } from "node:fs/promises";
import { dirname, join } from "node:path";
import type { StoredManifest } from "#protocol/checkpoint/adopted.ts";
import { modesOf, type FileAttributes } from "#protocol/checkpoint/file-attributes.ts";
import { placeUnder } from "./safe-place.ts";

type Attributed = Pick<StoredManifest, "files"> & { attributes?: FileAttributes | undefined };

/** Bit that lets every user write. It is never restored, because the manifest comes from another node. */
const OTHERS_WRITE = 0o002;

/**
 * Gives restored files their modes, and creates the folders that were empty. `whole`: the manifest with all its files; `paths`:
 * those that are restored, null: all. On a disk that keeps no modes the files exist all the same. No faults.
 */
export async function giveAttributes(
  staging: string,
  whole: Attributed,
  paths: ReadonlySet<string> | null,
): Promise<void> {
  const { attributes, files } = whole;
  if (attributes === undefined) return;
  const modeOf = modesOf(attributes);
  for (const [index, { path }] of files.entries()) {
    if (paths !== null && !paths.has(path)) continue;
    await chmod(placeUnder(staging, path), modeOf(index) & ~OTHERS_WRITE).catch(() => undefined);
  }
  if (paths !== null) return;
  for (const folder of attributes.emptyFolders)
    await mkdir(placeUnder(staging, folder), { recursive: true }).catch(() => undefined);
}

/**
 * Gives files that root restores to the owner and group of the parent folder, or their program could not rotate them. Nobody
 * else can write to the staging folder until its own owner changes, which comes last. Its name could be replaced by a link, so
 * everything goes through the open folder. No faults.
 */
export async function giveToOwner(staging: string): Promise<void> {
  const owner = await otherOwnerOf(dirname(staging));
  if (owner !== null) await giveFolder(staging, owner, "all").catch(() => undefined);
}

/**
 * Does the same for files that go beside the checkpoint, and leaves the folders in which they wait to root: files are renamed out
 * of these by their paths, which nobody else may replace meanwhile. `place`: the folder whose owner they get. No faults.
 */
export async function giveBesideToOwner(parts: string, place: string): Promise<void> {
  const owner = await otherOwnerOf(place);
  if (owner !== null) await giveFolder(parts, owner, "files").catch(() => undefined);
}

interface Owner {
  uid: number;
  gid: number;
}

/** Returns who owns a folder, when this process is root and the owner is not. */
async function otherOwnerOf(folder: string): Promise<Owner | null> {
  if (process.getuid?.() !== 0) return null;
  const owner = await stat(folder).catch(() => null);
  return owner === null || (owner.uid === 0 && owner.gid === 0) ? null : owner;
}

async function giveFolder(path: string, owner: Owner, what: "all" | "files"): Promise<void> {
  const folder = await open(path, constants.O_RDONLY | constants.O_DIRECTORY | constants.O_NOFOLLOW);
  try {
    if ((await folder.stat()).uid !== 0) return;
    const inside = `/proc/self/fd/${folder.fd}`;
    for (const entry of await readdir(inside, { withFileTypes: true })) {
      if (entry.isDirectory()) await giveFolder(join(inside, entry.name), owner, what);
      else await lchown(join(inside, entry.name), owner.uid, owner.gid);
    }
    if (what === "all") await folder.chown(owner.uid, owner.gid);
  } finally {
    await folder.close();
  }
}
