import { realpath, stat } from "node:fs/promises";
import { sep } from "node:path";

/**
 * Rule for links in a watched folder. The program that writes there may run as another user than the worker. It could link to a
 * file of the worker's user to have that file uploaded. So a link is followed within the watched folder. Out of it, it is
 * followed only to files of the folder's owner, unless the person who started the worker allows more (`--follow-links`).
 */
export interface LinkRule {
  /** The watched folder. */
  root: string;
  followsAll: boolean;
}

/**
 * Returns why a link at `path` is not followed; null when it is. `targetUid`: owner of its target at the look. A capture
 * compares the file that it opens with that look, so that a link which is changed in between takes nothing else.
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
