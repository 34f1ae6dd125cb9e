import { lstat, open, readdir } from "node:fs/promises";
import { basename, dirname, join } from "node:path";
import { removeOwned, renameOwned } from "#worker/base/disk/change-disk.ts";
import { nameBeside } from "#worker/base/disk/name-beside.ts";
import { codeOf, diskFault } from "#worker/base/disk-fault.ts";
import { syncFolder } from "#worker/base/journal.ts";
import { fingerprintOf, lookAt } from "#worker/capture/detection/look.ts";
import { keepAs } from "./set-aside.ts";

/**
 * Does the last step of a restore. Everything is complete and on disk in the staging folder; one rename makes it visible. An
 * existing folder is moved away first and comes back when the rename fails. Afterwards it is removed only when the bucket holds
 * its content byte for byte now. Anything else stays beside the new folder, under a name of `set-aside.ts`.
 */

export interface Places {
  target: string;
  staging: string;
  /** Path where an existing target waits until the new one is in place. */
  aside: string;
  /** Path of the pieces from which tensors are cut. */
  parts: string;
}

/** Handling of a folder that a restore replaces. */
export interface Replaced {
  /** Returns whether the bucket holds this content of this path byte for byte now. Left out: it holds nothing. */
  isStored?(path: string, fingerprint: string): Promise<boolean>;
  /** Called when it was kept, with its new path. `refused`: error of the disk, which did not let it be removed. */
  onKept?(place: string, refused?: string): void;
}

/** Returns paths beside the target: on the same disk, hidden, and the same after a restart. */
export function placesOf(target: string, transferId: string): Places {
  const beside = (word: string) => nameBeside(target, { before: ".", behind: `.${word}-${transferId.slice(0, 12)}` });
  return { target, staging: beside("restoring"), aside: beside("replaced"), parts: beside("parts") };
}

/** Replaces the target by the staging folder. Faults: WRITE_FAILED, NO_SPACE. */
export async function putInPlace(places: Places, replaced: Replaced): Promise<void> {
  const { target, staging, aside } = places;
  const parent = dirname(target);
  try {
    await syncTree(staging);
    const hadOld = await moveAway(places, replaced);
    try {
      await renameOwned("restore-part", staging, target);
    } catch (error) {
      if (hadOld) await renameOwned("replaced", aside, target);
      throw error;
    }
    await syncFolder(parent);
    if (hadOld) await settleOld(places, replaced);
  } catch (error) {
    throw diskFault(error, { op: "restore", subject: target, otherwise: "WRITE_FAILED" });
  }
}

/**
 * Puts files into a folder that may hold others, each by one rename; a file of the same name is handled like a replaced folder.
 * The first name comes last: a program that finds it finds all of them. Faults: WRITE_FAILED, NO_SPACE.
 */
export async function putFilesInPlace(
  { target, staging }: Places,
  { names, transferId }: { names: readonly string[]; transferId: string },
  replaced: Replaced,
): Promise<void> {
  const folder = dirname(target);
  const first = basename(target);
  const others = names.filter((name) => name !== first);
  try {
    for (const name of [...others, first]) {
      if (!(await exists(join(staging, name)))) continue;
      const places = { ...placesOf(join(folder, name), transferId), staging: join(staging, name) };
      const hadOld = await moveAway(places, replaced);
      await renameOwned("restore-part", places.staging, places.target);
      if (hadOld) await settleOld(places, replaced);
    }
    await syncFolder(folder);
    await removeOwned("restore-part", staging);
  } catch (error) {
    throw diskFault(error, { op: "restore", subject: target, otherwise: "WRITE_FAILED" });
  }
}

/**
 * Undoes an interrupted `putInPlace`: the old folder goes back when the new one did not arrive. Faults: FOLDER_UNWRITABLE,
 * NO_SPACE.
 */
export async function mendPlaces(places: Places, replaced: Replaced): Promise<void> {
  const { target, aside } = places;
  try {
    if (!(await exists(aside))) return;
    if (await exists(target)) await settleOld(places, replaced);
    else await renameOwned("replaced", aside, target);
  } catch (error) {
    throw diskFault(error, { op: "restore", subject: dirname(target), otherwise: "FOLDER_UNWRITABLE" });
  }
}

/** Removes the remains of a cancelled or failed restore. The target is not touched. */
export async function clearPlaces(places: Places, replaced: Replaced): Promise<void> {
  await mendPlaces(places, replaced);
  await removeOwned("restore-part", places.staging);
  await removeOwned("restore-part", places.parts);
}

/** Removes the replaced folder when that loses nothing, and keeps it under another name otherwise. */
async function settleOld({ target, aside }: Places, { isStored, onKept }: Replaced): Promise<void> {
  let refused: string | undefined;
  const stored = await fingerprintAside(aside, target);
  if (stored !== null && (await isStored?.(target, stored)) === true) {
    // During the hub's answer a program with an open file may have written to it.
    if ((await fingerprintAside(aside, target)) === stored) {
      refused = await removeOwned("replaced", aside).then(
        () => undefined,
        (error: unknown) => codeOf(error) ?? "EIO",
      );
      if (refused === undefined) return;
    }
  }
  // The new one is in place: a folder of another user that cannot be removed is no reason to call the restore failed.
  const place = await keepAs(aside, target);
  onKept?.(place, refused);
}

/** Returns the fingerprint under its first name, `target`; null for a link and for what cannot be read. */
async function fingerprintAside(aside: string, target: string): Promise<string | null> {
  const stats = await lstat(aside);
  if (stats.isSymbolicLink()) return null;
  const kind = stats.isDirectory() ? "folder" : "file";
  const look = await lookAt({ path: aside, kind }).catch(() => null);
  if (look === null) return null;
  if (kind === "folder") return look.fingerprint;
  return fingerprintOf(look.files.map((file) => ({ ...file, relative: basename(target) })));
}

async function moveAway({ target, aside, ...rest }: Places, replaced: Replaced): Promise<boolean> {
  if (!(await exists(target))) return false;
  if (await exists(aside)) await settleOld({ target, aside, ...rest }, replaced);
  await renameOwned("replaced", target, aside);
  return true;
}

async function exists(path: string): Promise<boolean> {
  try {
    await lstat(path);
    return true;
  } catch (error) {
    if (codeOf(error) === "ENOENT") return false;
    throw error;
  }
}

async function syncTree(folder: string): Promise<void> {
  for (const entry of await readdir(folder, { withFileTypes: true })) {
    if (entry.isDirectory()) await syncTree(join(folder, entry.name));
  }
  const handle = await open(folder, "r");
  try {
    await handle.sync();
  } finally {
    await handle.close();
  }
}
