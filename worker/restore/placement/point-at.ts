import { lchown, lstat, readdir, readFile, writeFile } from "node:fs/promises";
import { dirname, join, sep } from "node:path";
import { isPointerName } from "#protocol/checkpoint/place.ts";
import { removeOwned, renameOwned } from "#worker/base/disk/change-disk.ts";
import { diskFault } from "#worker/base/disk-fault.ts";
import { syncFolder } from "#worker/base/journal.ts";
import { pointerTo, type PointedAt } from "#worker/capture/detection/pointers.ts";
import { keepAs } from "./set-aside.ts";
import { placesOf } from "./put-in-place.ts";

const MOST_POINTER_BYTES = 1024 * 1024;

/** A pointer that was rewritten. `place`: where its former content is kept. */
interface Repointed {
  path: string;
  place: string;
}

/**
 * Makes the pointers around a checkpoint of this disk name it, from its folder up to the watched one: later checkpoints, which
 * they named, were moved aside. The former pointers are kept aside. Returns what was replaced. Faults: READ_FAILED,
 * WRITE_FAILED, NO_SPACE.
 */
export async function pointAt(root: string, checkpoint: PointedAt, id: string): Promise<Repointed[]> {
  const replaced: Repointed[] = [];
  try {
    for (let folder = dirname(checkpoint.path); folder === root || folder.startsWith(root + sep);) {
      for (const name of (await readdir(folder)).filter(isPointerName)) {
        const path = join(folder, name);
        const stats = await lstat(path);
        if (!stats.isFile() || stats.size > MOST_POINTER_BYTES) continue;
        const text = pointerTo({ name, folder, text: await readFile(path, "utf8") }, checkpoint);
        if (text !== null) replaced.push({ path, place: await replace(path, text, id) });
      }
      if (folder === root) break;
      folder = dirname(folder);
    }
    return replaced;
  } catch (error) {
    throw diskFault(error, { op: "run", subject: checkpoint.path, otherwise: "WRITE_FAILED" });
  }
}

/** Replaces a pointer by one rename, so that a program always finds a whole one. Returns where the former one is kept. */
async function replace(path: string, text: string, id: string): Promise<string> {
  const { staging, aside } = placesOf(path, id);
  const { mode, uid, gid } = await lstat(path);
  await removeOwned("replaced", aside);
  await writeAnew(aside, await readFile(path));
  const place = await keepAs(aside, path);
  await removeOwned("restore-part", staging);
  await writeAnew(staging, text, mode & 0o777);
  // A program of another user has to be able to rewrite it.
  if (process.getuid?.() === 0) await lchown(staging, uid, gid);
  await renameOwned("restore-part", staging, path);
  await syncFolder(dirname(path));
  return place;
}

/** Writes a file that is not there: through a link of that name nothing is written. */
async function writeAnew(path: string, content: string | Buffer, mode = 0o600): Promise<void> {
  await writeFile(path, content, { flag: "wx", mode });
}
