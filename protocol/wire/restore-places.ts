import type { WatchedFolder } from "./reports.ts";

/**
 * Where a restore by hand goes. The default lies outside of watched folders: a trainer removes older checkpoints from its own
 * folder, and a program that saves there would meet files that it did not write. A watched folder is the second offer, with
 * what it means said first.
 */

/** Of a node, as it reports them. */
export interface NodePlaces {
  /** Outside of watched folders, where the node takes restores; null: the node says none. */
  restoreFolder: string | null;
  watched: readonly WatchedFolder[];
}

interface Restored {
  run: string;
  step: number;
  isFinalModel: boolean;
}

/** Returns the default target, `FOLDER/RUN/step-N`; null where the node has no folder outside of watched ones. */
export function placeApart({ restoreFolder }: NodePlaces, { run, step, isFinalModel }: Restored): string | null {
  if (restoreFolder === null) return null;
  return `${restoreFolder.replace(/\/+$/, "")}/${run}/${isFinalModel ? "final-model" : `step-${step}`}`;
}

/** Returns where training looks for it: in the folder that is watched for the run, else in a folder of the run in another watched one. */
export function placeInTraining({ watched }: NodePlaces, { run, path }: { run: string; path: string }): string | null {
  const allowed = watched.filter(({ mayRestore }) => mayRestore);
  const own = allowed.find((one) => one.run === run);
  if (own !== undefined) return `${own.folder}/${path}`;
  const [first] = allowed;
  return first === undefined ? null : `${first.folder}/${run}/${path.slice(path.lastIndexOf("/") + 1)}`;
}

/** Says what a restore into a watched folder meets; null: the target is outside of all of them. */
export interface InWatched {
  run: string;
  folder: string;
  /** Its program is at work. */
  isTraining: boolean;
  /** Between two checkpoints of a program at work; null: not known, or none is. */
  intervalMs: number | null;
  /** The name of what is replaced when it is there. */
  name: string;
}

/** Returns what a target lies in. A folder around a watched one counts as well: it would be replaced with it. */
export function watchedAt(target: string, watched: readonly WatchedFolder[]): InWatched | null {
  const path = target.replace(/\/+/g, "/").replace(/\/$/, "");
  const inside = watched
    .filter(({ folder }) => path === folder || path.startsWith(`${folder}/`) || folder.startsWith(`${path}/`))
    .reduce<WatchedFolder | null>(
      (best, one) => (best === null || one.folder.length > best.folder.length ? one : best),
      null,
    );
  if (inside === null) return null;
  const { run, folder, isTraining } = inside;
  const name = path.slice(path.lastIndexOf("/") + 1);
  return { run, folder, isTraining, intervalMs: isTraining ? inside.intervalMs : null, name };
}

/** A program that was not seen for so long may be between two steps; beyond it and three intervals it counts as paused. */
const AT_WORK_MS = 600_000;

interface Seen {
  run: string;
  trainedAt: number | null;
  localAt: number | null;
  intervalMs: number | null;
}

/** Returns whether the program of a run is at work, by when it was last seen to train or to write. */
export function isAtWork({ trainedAt, localAt, intervalMs }: Seen, at: number): boolean {
  const last = Math.max(trainedAt ?? 0, localAt ?? 0);
  return last > 0 && at - last <= Math.max(AT_WORK_MS, 3 * (intervalMs ?? 0));
}

/** Returns what the programs of a node do, in words; null only where it watches no run, so that it can be called idle. */
export function trainingWords(runs: readonly Seen[], at: number): string | null {
  const working = runs.filter((run) => isAtWork(run, at)).map(({ run }) => run);
  const [first] = working.length > 0 ? working : runs.map(({ run }) => run);
  if (first === undefined) return null;
  const others = (working.length > 0 ? working : runs).length - 1;
  return `${working.length > 0 ? "training" : "watches"} ${first}${others > 0 ? ` and ${others} more` : ""}`;
}
