import type { Stats } from "node:fs";
import { stat } from "node:fs/promises";
import { dirname } from "node:path";
import { codeOf } from "#worker/base/disk-fault.ts";

/** User and group to which restored files and folders are given. */
export interface Owner {
  uid: number;
  gid: number;
}

/** An attribute that the disk or the system did not accept. The restore goes on. */
export interface Refused {
  what: "owner" | "modes";
  path: string;
  /** Error code of the system. */
  code: string;
  /** Owner that `path` should have; null for modes. */
  owner: Owner | null;
}
export type OnRefused = (refused: Refused) => void;

/** Returns the owner to give, from the stats of a folder; null unless this process is root and the folder is another's. */
export const otherOwner = ({ uid, gid }: Pick<Stats, "uid" | "gid">): Owner | null =>
  process.getuid?.() !== 0 || (uid === 0 && gid === 0) ? null : { uid, gid };

/** Does the same for a path: for the nearest folder that exists. */
export async function otherOwnerOf(folder: string): Promise<Owner | null> {
  const stats = await stat(await nearestExisting(folder)).catch(() => null);
  return stats === null ? null : otherOwner(stats);
}

/** Returns the path, or the nearest one above it that exists. */
export async function nearestExisting(path: string, isMissing?: (path: string) => boolean): Promise<string> {
  for (let at = path; ; at = dirname(at)) {
    if (dirname(at) === at) return at;
    if (isMissing?.(at) === true) continue;
    const code = await stat(at).then(() => null, codeOf);
    if (code !== "ENOENT" && code !== "ENOTDIR") return at;
  }
}
