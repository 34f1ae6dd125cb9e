import { stat } from "node:fs/promises";
import { dirname, join } from "node:path";
import { formatBytes } from "#protocol/base/units.ts";
import { codeOf } from "../base/disk-fault.ts";
import { readRoom } from "../base/room.ts";

/**
 * Warning about a state folder on a small root disk while checkpoints are written to a large volume. Captures are copied to
 * the state folder's disk until they are safe; they may not fit there, although the volume has room.
 */
export interface SmallDisk {
  says: string;
  fix: string;
}

/** With this much free space there is no warning, however much larger the other disk is. */
const LARGE_BYTES = 200 * 1024 ** 3;
/** Factor by which the checkpoints' disk must have more free space to be the better place. */
const TIMES_MORE = 4;

/** Returns what is wrong with the disk of `state` for captures of `watched`; null when nothing is, or nothing is known. */
export async function judgeStateDisk(state: string, watched: string): Promise<SmallDisk | null> {
  try {
    const [own, there] = [await existing(state), await existing(watched)];
    if ((await stat(own)).dev === (await stat(there)).dev) return null;
    const [ownRoom, room] = [await readRoom(own), await readRoom(there)];
    return judgeFree({ state, watched, stateBytes: ownRoom.freeBytes, watchedBytes: room.freeBytes });
  } catch {
    return null;
  }
}

/** Returns the warning for two disks with this much free space, or null. Pure. */
export function judgeFree(about: {
  state: string;
  watched: string;
  stateBytes: number;
  watchedBytes: number;
}): SmallDisk | null {
  const { state, watched, stateBytes, watchedBytes } = about;
  if (stateBytes >= LARGE_BYTES || watchedBytes < stateBytes * TIMES_MORE) return null;
  const says = `captures of ${watched} (${formatBytes(watchedBytes)} free) are copied to another disk, that of ${state} (${formatBytes(stateBytes)} free), until they are safe`;
  return {
    says,
    fix: `Keep the state on the disk of the checkpoints: --state ${join(dirname(watched), ".tidemark-state")}.`,
  };
}

/** Returns the folder itself, or its nearest existing parent. */
async function existing(path: string): Promise<string> {
  try {
    await stat(path);
    return path;
  } catch (error) {
    if (codeOf(error) !== "ENOENT" || dirname(path) === path) throw error;
    return existing(dirname(path));
  }
}
