import { readdir } from "node:fs/promises";
import { isThere } from "#worker/base/disk/is-there.ts";

/** Place where a framework writes from its next start on, because the watched folder exists. */
export interface Elsewhere {
  /** The folder to watch instead. */
  above: string;
  /** Folder that the framework creates there. */
  next: string;
}

/** `version_0` of Lightning's loggers. */
const VERSION = /^(.+)\/version_\d+(?:\/checkpoints)?\/?$/;
/** `train`, `train2` and `train-2` of ultralytics, `exp` of YOLOv5. */
const NUMBERED = /^(.+)\/(train|segment|pose|classify|exp)(?:-?\d+)?(?:\/weights)?\/?$/;
/** `outputs/DATE/TIME` of Hydra. */
const DATED = /^(.+)\/\d{4}-\d\d-\d\d\/\d\d-\d\d-\d\d(?:\/.*)?$/;

/**
 * Returns where a framework creates a new folder at its next start because the watched one exists. Null: nothing shows that, or
 * the watched folder does not exist yet.
 */
export async function nextPlace(folder: string): Promise<Elsewhere | null> {
  if (!(await isThere(folder))) return null;
  const [, above = null] = VERSION.exec(folder) ?? [];
  if (above !== null) return { above, next: `version_${(await highestIn(above, /^version_(\d+)$/)) + 1}` };
  const [, runs = null, word = ""] = NUMBERED.exec(folder) ?? [];
  if (runs !== null) {
    // The framework gives the first folder no number.
    const number = Math.max(1, await highestIn(runs, new RegExp(`^${word}-?(\\d+)$`))) + 1;
    return { above: runs, next: `${word}-${number} or ${word}${number}` };
  }
  const [, outputs = null] = DATED.exec(folder) ?? [];
  return outputs === null ? null : { above: outputs, next: "a folder of the date and time of its start" };
}

/** Returns the highest number of the names in a folder; -1: none has one. */
async function highestIn(folder: string, pattern: RegExp): Promise<number> {
  const names = await readdir(folder).catch(() => []);
  return names.reduce((highest, name) => Math.max(highest, Number(pattern.exec(name)?.[1] ?? -1)), -1);
}
