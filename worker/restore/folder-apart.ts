import { constants } from "node:fs";
import { access } from "node:fs/promises";
import { dirname, join } from "node:path";
import { codeOf } from "../base/disk-fault.ts";
import { assertPlace, isIn, realOf, type Places } from "./placement/assert-place.ts";

/** Returns whether the hub may place a checkpoint there. */
export const mayPlace = (target: string, places: Places): Promise<boolean> =>
  assertPlace(target, places).then(
    () => true,
    () => false,
  );

/**
 * Returns the default folder for restores by hand. This node allows it, it can be written, and it lies outside of watched
 * folders, so that no trainer removes it. A folder beside a watched one comes before `./restored`, because it is on the same
 * disk. Null: there is none.
 */
export async function folderApart(places: Places): Promise<string | null> {
  const { watches, allowed, restored } = places;
  const watched = await Promise.all(watches.map(realOf));
  const usual = [...watches.map((folder) => join(dirname(folder), "restored")), restored];
  for (const folder of allowed.length > 0 ? allowed : usual) {
    const real = await realOf(folder);
    if (watched.some((watch) => isIn(real, watch))) continue;
    if ((await mayPlace(join(folder, "run", "step"), places)) && (await canWrite(real))) return folder;
  }
  return null;
}

/** Returns whether the nearest existing folder can be written; the restore creates the rest. */
async function canWrite(folder: string): Promise<boolean> {
  for (let at = folder; ; at = dirname(at)) {
    try {
      await access(at, constants.W_OK | constants.X_OK);
      return true;
    } catch (error) {
      if (codeOf(error) !== "ENOENT" || dirname(at) === at) return false;
    }
  }
}
