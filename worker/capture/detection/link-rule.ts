import { realpath, stat } from "node:fs/promises";
import { sep } from "node:path";

/**
 * Which links in a watched folder are followed. The program that writes there may run as another user than the worker, and a
 * link is enough to have a file of the worker's user uploaded. So a link is followed within the watched folder, and out of it
 * only to what the owner of the folder owns, unless the person who started the worker says otherwise (`--follow-links`).
 */
export interface LinkRule {
  /** The watched folder. */
  root: string;
  followsAll: boolean;
}

/**
 * Returns why a link at `path` is not followed; null where it is. `targetUid` is the owner of what it led to when it was looked
 * at: a capture compares the file that it opens with that look, so that a link which is changed in between takes nothing else.
 */
export async function whyNotFollowed(
  path: string,
  { root, followsAll }: LinkRule,
  targetUid: number,
): Promise<string | null> {
  if (followsAll || (await stat(root)).uid === targetUid) return null;
  const [target, folder] = await Promise.all([realpath(path), realpath(root)]);
  if (target.startsWith(folder + sep)) return null;
  return `it is a link out of the watched folder, to what user ${targetUid} owns and the owner of the folder does not; --follow-links takes it`;
}
