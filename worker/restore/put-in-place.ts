import { lstat, open, readdir, rename, rm } from "node:fs/promises";
import { basename, dirname, join } from "node:path";
import { setFileDate } from "../engine/at-once.ts";
import { codeOf, diskFault } from "../engine/disk-fault.ts";
import { syncFolder } from "../engine/journal.ts";

/**
 * The last step of a restore. Everything is complete and on disk in the staging folder; one rename makes it visible. A
 * folder that was there before is set aside first and comes back when the rename fails.
 */

export interface Places {
  target: string;
  staging: string;
  /** Where an existing target waits until the new one is in place. */
  aside: string;
  /** Where pieces wait to be cut. */
  parts: string;
}

/** Names beside the target, on the same disk, hidden, and the same after a restart. */
export function placesOf(target: string, transferId: string): Places {
  const beside = (word: string) => join(dirname(target), `.${basename(target)}.${word}-${transferId.slice(0, 12)}`);
  return { target, staging: beside("restoring"), aside: beside("replaced"), parts: beside("parts") };
}

/** Faults: WRITE_FAILED, NO_SPACE. */
export async function putInPlace(places: Places): Promise<void> {
  const { target, staging, aside } = places;
  const parent = dirname(target);
  try {
    await syncTree(staging);
    const hadOld = await moveAway(target, aside);
    try {
      await rename(staging, target);
    } catch (error) {
      if (hadOld) await rename(aside, target);
      throw error;
    }
    await syncFolder(parent);
    await rm(aside, { recursive: true, force: true });
  } catch (error) {
    throw diskFault(error, { op: "restore", subject: target, otherwise: "WRITE_FAILED" });
  }
}

/** Undoes what an interrupted `putInPlace` left: the old folder goes back when the new one did not arrive. */
export async function mendPlaces({ target, aside }: Places): Promise<void> {
  if (!(await exists(aside))) return;
  if (await exists(target)) await rm(aside, { recursive: true, force: true });
  else await rename(aside, target);
}

/** Removes what a cancelled or failed restore left. The target is not touched. */
export async function clearPlaces(places: Places): Promise<void> {
  await mendPlaces(places);
  await rm(places.staging, { recursive: true, force: true });
  await rm(places.parts, { recursive: true, force: true });
}

/** Gives a file the date it had. A disk that keeps no dates has the file all the same. */
export async function setDate(path: string, mtimeMs: number): Promise<void> {
  await setFileDate(path, mtimeMs / 1000).catch(() => undefined);
}

async function moveAway(target: string, aside: string): Promise<boolean> {
  if (!(await exists(target))) return false;
  await rm(aside, { recursive: true, force: true });
  await rename(target, aside);
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
