import { constants } from "node:fs";
import { chmod, lchown, mkdir, open, readdir, stat } from "node:fs/promises";
import { dirname, join } from "node:path";
import type { StoredManifest } from "#protocol/checkpoint/adopted.ts";
import { modesOf, type FileAttributes } from "#protocol/checkpoint/file-attributes.ts";
import { placeUnder } from "./safe-place.ts";

type Attributed = Pick<StoredManifest, "files"> & { attributes?: FileAttributes | undefined };

/** The manifest comes from another node: what everybody could write to is no one's model. */
const OTHERS_WRITE = 0o002;

/**
 * Gives restored files the modes that they had, and makes the folders that were empty. `whole`: the manifest with all its files;
 * `paths`: those that are restored, null: all. A disk that keeps no modes has the files all the same. No faults.
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
 * Gives what root restores to the owner and group of the folder that it is put into, or its program could not rotate it. Nobody
 * else can write to the staging folder before its turn, which comes last; its name could be given to a link, so that
 * everything goes through the open folder. No faults.
 */
export async function giveToOwner(staging: string): Promise<void> {
  if (process.getuid?.() !== 0) return;
  const owner = await stat(dirname(staging)).catch(() => null);
  if (owner === null || (owner.uid === 0 && owner.gid === 0)) return;
  await giveFolder(staging, owner).catch(() => undefined);
}

async function giveFolder(path: string, owner: { uid: number; gid: number }): Promise<void> {
  const folder = await open(path, constants.O_RDONLY | constants.O_DIRECTORY | constants.O_NOFOLLOW);
  try {
    if ((await folder.stat()).uid !== 0) return;
    const inside = `/proc/self/fd/${folder.fd}`;
    for (const entry of await readdir(inside, { withFileTypes: true })) {
      if (entry.isDirectory()) await giveFolder(join(inside, entry.name), owner);
      else await lchown(join(inside, entry.name), owner.uid, owner.gid);
    }
    await folder.chown(owner.uid, owner.gid);
  } finally {
    await folder.close();
  }
}
