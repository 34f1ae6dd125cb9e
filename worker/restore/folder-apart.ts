import { constants } from "node:fs";
import { access } from "node:fs/promises";
import { dirname, join } from "node:path";
import { codeOf } from "../base/disk-fault.ts";
import { assertPlace, isIn, realOf, type Places } from "./placement/assert-place.ts";

/** Returns whether a hub may have a checkpoint put there. */
export const mayPlace = (target: string, places: Places): Promise<boolean> =>
  assertPlace(target, places).then(
    () => true,
    () => false,
  );

/**
 * Returns the folder in which restores by hand go when nobody says where: one that this node allows, that can be written, and
 * that is outside of watched folders, so that no trainer removes it. Beside a watched folder it is on the same disk, so that
 * comes before `./restored`. Null: there is none.
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

/** By the nearest folder that exists: the rest is made by the restore. */
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
