import { lstat, mkdir } from "node:fs/promises";
import { dirname, isAbsolute, normalize, sep } from "node:path";
import { Fault } from "#protocol/fault.ts";
import { findCollision, foldName, whyPathRefused } from "#protocol/names.ts";
import { foldsNames } from "../disk/folds-names.ts";
import { codeOf, diskFault } from "../engine/disk-fault.ts";

/**
 * Names in a manifest come from another machine. None of them may lead out of the folder they belong to: not by `..`,
 * not by an absolute path, not through a link that somebody put there.
 */

/** The target of a restore, normalised. @throws Fault HOSTILE_NAME */
export function readTarget(path: string): string {
  const refuse = (detail: string) => new Fault("HOSTILE_NAME", { op: "restore", subject: path, detail });
  if (!isAbsolute(path)) throw refuse("the target is not an absolute path");
  if (path.split("/").includes("..")) throw refuse("the target contains '..'");
  if (path.includes("\0")) throw refuse("the target contains a zero byte");
  const target = normalize(path).replace(/\/+$/, "");
  if (target === "" || dirname(target) === target) throw refuse("the target is the root of the disk");
  return target;
}

/** The place of a file under `root`. @throws Fault HOSTILE_NAME */
export function placeUnder(root: string, relative: string): string {
  const why = whyPathRefused(relative);
  if (why !== null) throw new Fault("HOSTILE_NAME", { op: "restore", subject: relative, detail: why });
  const place = normalize(`${root}${sep}${relative}`);
  if (!place.startsWith(root + sep)) throw new Fault("HOSTILE_NAME", { op: "restore", subject: relative });
  return place;
}

/**
 * Names that differ in case or accents alone lie beside each other on Linux, but not on every disk. `foldsOn` is asked only where there are
 * such names. @throws Fault HOSTILE_NAME where one would land on the other
 */
export async function assertApart(folder: string, names: readonly string[], foldsOn = foldsNames): Promise<void> {
  const collision = findCollision(names, foldName);
  if (collision === null || !(await foldsOn(folder))) return;
  const [subject, other] = collision;
  throw new Fault("HOSTILE_NAME", { op: "restore", subject, detail: `on this disk it is the same file as ${other}` });
}

/** Makes the folders between `root` and `place`, refusing to pass through a link. Faults: HOSTILE_NAME, FOLDER_UNWRITABLE, NO_SPACE. */
export async function makeParents(root: string, place: string): Promise<void> {
  const below = dirname(place)
    .slice(root.length)
    .split(sep)
    .filter((segment) => segment !== "");
  let at = root;
  for (const segment of ["", ...below]) {
    if (segment !== "") at += sep + segment;
    await makePlainFolder(at);
  }
}

async function makePlainFolder(path: string): Promise<void> {
  try {
    await mkdir(path, { mode: 0o755 });
  } catch (error) {
    if (codeOf(error) !== "EEXIST")
      throw diskFault(error, { op: "mkdir", subject: path, otherwise: "FOLDER_UNWRITABLE" });
    const stats = await lstat(path);
    if (!stats.isDirectory()) {
      throw new Fault("HOSTILE_NAME", { op: "restore", subject: path, detail: "a link or a file is in the way" });
    }
  }
}
