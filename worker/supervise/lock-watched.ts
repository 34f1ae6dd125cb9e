import { lstatSync, mkdirSync } from "node:fs";
import { join } from "node:path";
import { isFault } from "#protocol/faults/fault.ts";
import { lockAt } from "../host/lock.ts";
import { folderKey } from "../program/program-record.ts";

/**
 * One `tidemark run` on this machine for each watched folder, whatever state folder it has. The lock lies in a folder of this
 * user for temporary files: in the watched folder itself a program might take it for something of its own. Machines that share
 * a folder are kept apart by the hub, which gives a run to one writer.
 * Returns the function that gives the locks back. Where there is no folder for temporary files nothing is locked.
 * @throws Fault FOLDER_IN_USE
 */
export async function lockWatched(watched: readonly string[], temporary: string): Promise<() => Promise<void>> {
  const locks = ownFolder(temporary);
  const held: (() => Promise<void>)[] = [];
  const release = async (): Promise<void> => {
    for (const unlock of held.splice(0)) await unlock();
  };
  if (locks === null) return release;
  try {
    for (const folder of watched) {
      const about = { code: "FOLDER_IN_USE", op: "run", subject: folder } as const;
      held.push(await lockAt(join(locks, `${folderKey(folder)}.lock`), about));
    }
  } catch (error) {
    // A disk without room for a link holds up no training.
    if (isFault(error) && error.code !== "FOLDER_IN_USE") return release;
    await release();
    throw error;
  }
  return release;
}

/** A folder that nobody else can write to; null where there is none. */
function ownFolder(temporary: string): string | null {
  const uid = process.getuid?.() ?? 0;
  const path = join(temporary, `tidemark-run-${uid}`);
  try {
    mkdirSync(path, { mode: 0o700 });
  } catch {
    // It is there, or cannot be made.
  }
  try {
    const found = lstatSync(path);
    return found.isDirectory() && found.uid === uid && (found.mode & 0o022) === 0 ? path : null;
  } catch {
    return null;
  }
}
