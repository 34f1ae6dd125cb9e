import { join } from "node:path";
import { isFault } from "#protocol/faults/fault.ts";
import { lockAt } from "../host/lock.ts";
import { ownTemporaryFolder } from "../host/own-temporary-folder.ts";
import { folderKey } from "../program/program-record.ts";

/**
 * Locks watched folders, so that only one `tidemark run` on this machine uses each, whatever its state folder. The locks lie
 * in a temporary folder of this user, because a program might take a file in the watched folder for its own. Between machines
 * that share a folder, the hub ensures that a run has one writer.
 * Returns the function that releases the locks. Without a temporary folder nothing is locked.
 * @throws Fault FOLDER_IN_USE
 */
export async function lockWatched(watched: readonly string[], temporary: string): Promise<() => Promise<void>> {
  const locks = ownTemporaryFolder(temporary);
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
    // A lock that cannot be created, as on a full disk, must not prevent training.
    if (isFault(error) && error.code !== "FOLDER_IN_USE") return release;
    await release();
    throw error;
  }
  return release;
}
