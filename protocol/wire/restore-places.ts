import { rootFor, type WatchedRoot } from "../checkpoint/place.ts";
import type { WatchedFolder } from "./reports.ts";

/**
 * Target folders of a manual restore. The default lies outside of watched folders. A trainer removes older checkpoints from
 * its own folder, and a program that saves there would find files that it did not write. A watched folder is the second
 * choice, offered with a warning.
 */

/** Folders of a node, as it reports them. */
export interface NodePlaces {
  /** Folder for restores outside of watched folders; null: the node reports none. */
  restoreFolder: string | null;
  watched: readonly WatchedFolder[];
}

interface Restored {
  run: string;
  step: number;
  isFinalModel: boolean;
}

/** Returns the default target, `FOLDER/RUN/step-N`; null when the node has no folder outside of watched ones. */
export function placeApart({ restoreFolder }: NodePlaces, { run, step, isFinalModel }: Restored): string | null {
  if (restoreFolder === null) return null;
  return `${restoreFolder.replace(/\/+$/, "")}/${run}/${isFinalModel ? "final-model" : `step-${step}`}`;
}

/** Returns the path at which training looks for it: in the run's watched folder, else in a subfolder of another one. */
export function placeInTraining(
  { watched }: NodePlaces,
  { run, path, root }: { run: string; path: string; root?: WatchedRoot | undefined },
): string | null {
  const allowed = watched.filter(({ mayRestore }) => mayRestore);
  const ofRun = watched.filter((one) => one.run === run);
  const names = ofRun.map(({ folder }) => folder.slice(folder.lastIndexOf("/") + 1));
  const own = ofRun[rootFor(names, root)] ?? ofRun[0];
  if (own?.mayRestore === true) return `${own.folder}/${path}`;
  const [first] = allowed;
  return first === undefined ? null : `${first.folder}/${run}/${path.slice(path.lastIndexOf("/") + 1)}`;
}

/** State of the watched folder that a restore would write into. */
export interface InWatched {
  run: string;
  folder: string;
  /** Whether its program is running. */
  isTraining: boolean;
  /** Interval between checkpoints of a running program; null: unknown, or no program runs. */
  intervalMs: number | null;
  /** Name of the existing entry that the restore would replace. */
  name: string;
}

/**
 * Returns the watched folder that a restore to `target` would touch, or null. A target above a watched folder touches
 * it too, because the restore replaces the whole target.
 */
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

/** A program may be silent this long between two steps; after this time and three checkpoint intervals it counts as paused. */
const AT_WORK_MS = 600_000;

interface Seen {
  run: string;
  trainedAt: number | null;
  localAt: number | null;
  intervalMs: number | null;
}

/** Returns whether the program of a run is running, by when it was last seen to train or to write. */
export function isAtWork({ trainedAt, localAt, intervalMs }: Seen, at: number): boolean {
  const last = Math.max(trainedAt ?? 0, localAt ?? 0);
  return last > 0 && at - last <= Math.max(AT_WORK_MS, 3 * (intervalMs ?? 0));
}

/** Describes what the programs of a node do; null only when the node watches no run, so that it can be called idle. */
export function trainingWords(runs: readonly Seen[], at: number): string | null {
  const working = runs.filter((run) => isAtWork(run, at)).map(({ run }) => run);
  const [first] = working.length > 0 ? working : runs.map(({ run }) => run);
  if (first === undefined) return null;
  const others = (working.length > 0 ? working : runs).length - 1;
  return `${working.length > 0 ? "training" : "watches"} ${first}${others > 0 ? ` and ${others} more` : ""}`;
}
