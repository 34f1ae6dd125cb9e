import { isThere } from "../disk/is-there.ts";

/**
 * Returns the folder to watch instead, where a framework makes a new folder beside the watched one at its next start because that
 * one is there: `version_1` of Lightning, `train2` of ultralytics. Null: nothing says so, or the watched folder is not there yet.
 */
export async function folderToWatch(folder: string): Promise<string | null> {
  const above =
    /^(.+)\/version_\d+(?:\/checkpoints)?\/?$/.exec(folder)?.[1] ??
    /^(.+)\/(?:train|segment|pose|classify)\d*(?:\/weights)?\/?$/.exec(folder)?.[1];
  if (above === undefined) return null;
  return (await isThere(folder)) ? above : null;
}
