import { realpath } from "node:fs/promises";
import { basename, dirname, join, sep } from "node:path";
import { Fault } from "#protocol/faults/fault.ts";
import { codeOf } from "#worker/base/disk-fault.ts";

/**
 * Folders in which the hub may place a checkpoint on this machine. A restore replaces its target as a whole. So the target is
 * never a place of the system, this worker or a program, nor a folder around one. With a list of allowed folders it is inside
 * of one of them. Without one it is inside of a watched folder, in a folder beside one, or in `./restored`. Whoever may ask a
 * hub for a restore must not reach keys, cron tables or another program's files. Links are resolved first.
 */
export interface Places {
  /** Watched folders: a restore goes into one, never in its place. */
  watches: readonly string[];
  /** State folder of this worker: nothing is ever placed there. */
  state: string;
  /** Empty: inside of watched folders, beside them, and in `restored`. */
  allowed: readonly string[];
  /** `./restored`. */
  restored: string;
  /** Home directory of the user. */
  home: string | null;
}

const SYSTEM = ["/bin", "/boot", "/dev", "/etc", "/lib", "/lib32", "/lib64", "/proc", "/run", "/sbin", "/sys", "/usr"];

/** Shared parents: a folder directly in one of these has unrelated neighbors. */
const OF_EVERYBODY = ["/", "/home", "/opt", "/root", "/srv", "/var", "/var/lib", "/var/spool"];

export const isIn = (path: string, folder: string): boolean =>
  path === folder || path.startsWith(folder === sep ? sep : `${folder}${sep}`);

/** Refuses a target that the rules do not allow. Faults: PLACE_REFUSED. */
export async function assertPlace(target: string, places: Places): Promise<void> {
  const refuse = (detail: string) => new Fault("PLACE_REFUSED", { op: "restore", subject: target, detail });
  const real = await realOf(target);
  const inSystem = SYSTEM.find((folder) => isIn(real, folder) || isIn(folder, real));
  if (places.allowed.length === 0 && inSystem !== undefined) throw refuse(`${inSystem} belongs to the system`);
  const state = await realOf(places.state);
  if (isIn(real, state) || isIn(state, real)) throw refuse("the worker keeps its queue there");
  for (const watch of places.watches) {
    if (isIn(await realOf(watch), real)) throw refuse(`it would replace ${watch}, which is watched`);
  }
  if (places.allowed.length === 0) return assertUsual(real, { places, refuse });
  const allowed = await Promise.all(places.allowed.map(realOf));
  if (allowed.some((folder) => real !== folder && isIn(real, folder))) return;
  throw refuse(`this node allows folders inside ${places.allowed.join(", ")} (--restore-to)`);
}

async function assertUsual(
  real: string,
  { places, refuse }: { places: Places; refuse(detail: string): Fault },
): Promise<void> {
  const home = places.home === null ? null : await realOf(places.home);
  const restored = await realOf(places.restored);
  if (real !== restored && isIn(real, restored)) return;
  for (const watch of places.watches) {
    const folder = await realOf(watch);
    if (isIn(real, folder)) return;
    const parent = dirname(folder);
    const isShared = OF_EVERYBODY.includes(parent) || parent === home || /^\/home\/[^/]+$/.test(parent);
    if (isShared || !isIn(real, parent)) continue;
    // Programs keep their own files under names that begin with a dot.
    if (
      !real
        .slice(parent.length)
        .split(sep)
        .some((name) => name.startsWith("."))
    )
      return;
  }
  const where = [...places.watches.map((folder) => `inside and beside ${folder}`), `in ${places.restored}`].join(", ");
  throw refuse(`without --restore-to this node allows folders ${where}`);
}

/** Returns where the path leads once every existing link of it is followed. */
export async function realOf(path: string): Promise<string> {
  const missing: string[] = [];
  for (let at = path; ; at = dirname(at)) {
    try {
      return join(await realpath(at), ...missing);
    } catch (error) {
      if (dirname(at) === at || codeOf(error) === undefined) return path;
      missing.unshift(basename(at));
    }
  }
}
