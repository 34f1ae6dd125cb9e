import { lstat, mkdir } from "node:fs/promises";
import { dirname, isAbsolute, normalize, sep } from "node:path";
import { Fault } from "#protocol/faults/fault.ts";
import { findCollision, foldName, whyPathRefused } from "#protocol/base/names.ts";
import { foldsNames } from "#worker/base/disk/folds-names.ts";
import { refusesName } from "#worker/base/disk/refuses-name.ts";
import { codeOf, diskFault } from "#worker/base/disk-fault.ts";

/**
 * Checks names in a manifest, which come from another machine. None of them may lead out of its folder: not by `..`, not by an
 * absolute path, not through a link that somebody put there.
 */

/** Returns the target of a restore, normalized. @throws Fault HOSTILE_NAME */
export function readTarget(path: string): string {
  const refuse = (detail: string) => new Fault("HOSTILE_NAME", { op: "restore", subject: path, detail });
  if (!isAbsolute(path)) throw refuse("the target is not an absolute path");
  if (path.split("/").includes("..")) throw refuse("the target contains '..'");
  if (path.includes("\0")) throw refuse("the target contains a zero byte");
  const target = normalize(path).replace(/\/+$/, "");
  if (target === "" || dirname(target) === target) throw refuse("the target is the root of the disk");
  return target;
}

/** Returns the path of a file under `root`. @throws Fault HOSTILE_NAME */
export function placeUnder(root: string, relative: string): string {
  const why = whyPathRefused(relative);
  if (why !== null) throw new Fault("HOSTILE_NAME", { op: "restore", subject: relative, detail: why });
  const place = normalize(`${root}${sep}${relative}`);
  if (!place.startsWith(root + sep)) throw new Fault("HOSTILE_NAME", { op: "restore", subject: relative });
  return place;
}

export interface Impossible {
  path: string;
  why: string;
}

/** Tests of a disk; unit tests replace them. */
export interface AskedDisk {
  foldsOn(folder: string): Promise<boolean>;
  refuses(folder: string, name: string): Promise<boolean>;
}
const DISK: AskedDisk = { foldsOn: foldsNames, refuses: refusesName };

/**
 * Returns the files that the disk cannot hold. Either it refuses the name, or it treats an earlier name as the same one,
 * because they differ in case or accents only. The disk is tested only when there are such names.
 */
export async function findImpossible(
  folder: string,
  paths: readonly string[],
  disk: AskedDisk = DISK,
): Promise<Impossible[]> {
  const found: Impossible[] = [];
  const isOdd = (name: string) => !USUAL_NAME.test(name) && !["", ".", ".."].includes(name);
  const odd = new Set(paths.flatMap((path) => path.split("/").filter(isOdd)));
  const refused = new Set<string>();
  for (const name of odd) if (await disk.refuses(folder, name)) refused.add(name);
  const possible = paths.filter((path) => {
    if (!path.split("/").some((name) => refused.has(name))) return true;
    found.push({ path, why: "the disk refuses its name" });
    return false;
  });
  if (findCollision(possible, foldName) === null || !(await disk.foldsOn(folder))) return found;
  const seen = new Map<string, string>();
  for (const path of possible) {
    const one = foldName(path);
    const other = seen.get(one) ?? folderInWay(seen, one);
    if (other === undefined) seen.set(one, path);
    else found.push({ path, why: `on this disk it is the same file as ${other}` });
  }
  return found;
}

/** Names that every disk takes. */
const USUAL_NAME = /^[A-Za-z0-9._ -]{0,139}[A-Za-z0-9_-]$/;

/** Returns a file that lies where a folder of this path would be. */
function folderInWay(seen: ReadonlyMap<string, string>, path: string): string | undefined {
  const segments = path.split("/");
  for (let depth = 1; depth < segments.length; depth++) {
    const file = seen.get(segments.slice(0, depth).join("/"));
    if (file !== undefined) return file;
  }
  return undefined;
}

/**
 * Makes `root` and the folders between it and `place`, but never through a link. Nobody else may enter a new `root`: files in it
 * have no modes of their own yet. Faults: HOSTILE_NAME, FOLDER_UNWRITABLE, NO_SPACE.
 */
export async function makeParents(root: string, place: string): Promise<void> {
  const below = dirname(place)
    .slice(root.length)
    .split(sep)
    .filter((segment) => segment !== "");
  let at = root;
  await makePlainFolder(at, PRIVATE_MODE);
  for (const segment of below) {
    at += sep + segment;
    await makePlainFolder(at, FOLDER_MODE);
  }
}

const PRIVATE_MODE = 0o700;
/** Mode of restored folders, of which the umask is taken. */
export const FOLDER_MODE = 0o755;

async function makePlainFolder(path: string, mode: number): Promise<void> {
  try {
    await mkdir(path, { mode });
  } catch (error) {
    if (codeOf(error) !== "EEXIST")
      throw diskFault(error, { op: "mkdir", subject: path, otherwise: "FOLDER_UNWRITABLE" });
    const stats = await lstat(path);
    if (!stats.isDirectory()) {
      throw new Fault("HOSTILE_NAME", { op: "restore", subject: path, detail: "a link or a file is in the way" });
    }
  }
}
