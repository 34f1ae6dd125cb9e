import {
  isAtWork,
  placeApart,
  placeInTraining,
  trainingWords,
  type NodePlaces,
} from "#protocol/wire/restore-places.ts";
import type { ShownPlace } from "#protocol/checkpoint/place.ts";
import type { ProgressReport } from "#protocol/wire/reports.ts";
import type { LiveNode } from "#server/core/live/live-node.ts";

/** Shared system folders: a worker accepts no restore beside a folder that lies directly in one of them. */
const SHARED = /^(\/(home(\/[^/]+)?|opt|root|srv|var(\/(lib|spool))?))?$/;

/** Returns where a node accepts restores. An older worker reports only its first watched folder, as the place of its disk space. */
export function placesOf(node: Pick<LiveNode, "report"> | undefined): NodePlaces {
  const report = node?.report ?? null;
  if (report === null) return { restoreFolder: null, watched: [] };
  const ofRun = (name: string) => {
    const run = report.runs.find((one) => one.run === name);
    return { isTraining: run !== undefined && isAtWork(run, report.at), intervalMs: run?.intervalMs ?? null };
  };
  const told = report.watched ?? watchedByOlder(report);
  const watched = told
    .filter(({ folder }) => isPlain(folder))
    .map((one) => ({ ...one, folder: tidy(one.folder), ...ofRun(one.run) }));
  const beside = report.watched === undefined ? besideOf(watched[0]?.folder) : null;
  const restoreFolder = report.restoreFolder ?? beside;
  return { restoreFolder: restoreFolder !== null && isPlain(restoreFolder) ? restoreFolder : null, watched };
}

/** Returns whether a path is safe to show in a field: invisible characters would make it look like another path. */
const isPlain = (folder: string): boolean => folder.startsWith("/") && !/[\p{Cc}\p{Cf}\u2028\u2029]/u.test(folder);
const tidy = (folder: string): string => folder.replace(/\/+$/, "");

function watchedByOlder({ disk, runs, restoreFolder }: ProgressReport): NonNullable<ProgressReport["watched"]> {
  const [first] = runs;
  if (disk === null || first === undefined || !disk.path.startsWith("/")) return [];
  return [{ run: first.run, folder: disk.path, mayRestore: restoreFolder === undefined }];
}

function besideOf(folder: string | undefined): string | null {
  const parent = folder?.slice(0, folder.lastIndexOf("/"));
  return parent === undefined || SHARED.test(parent) ? null : `${parent}/restored`;
}

interface Restored {
  run: string;
  step: bigint;
  role: string | null;
}

const shapeOf = ({ run, step, role }: Restored) => ({ run, step: Number(step), isFinalModel: role === "final-model" });

/** Returns the default target of a manual restore; null where the node has no folder outside of its watched ones. */
export const defaultTarget = (node: Pick<LiveNode, "report">, checkpoint: Restored): string | null =>
  placeApart(placesOf(node), shapeOf(checkpoint));

/** Returns both target paths on a node. Without a separate folder the training folder is suggested. */
export function offeredPaths(
  node: Pick<LiveNode, "report"> | undefined,
  checkpoint: Restored,
  place: ShownPlace,
): { suggestedPath: string; trainingPath: string | null; watched: NodePlaces["watched"] } {
  const places = placesOf(node);
  const apart = placeApart(places, shapeOf(checkpoint));
  const trainingPath = placeInTraining(places, { run: checkpoint.run, path: place.path, root: place.root });
  const unknown = placeApart({ ...places, restoreFolder: "/restored" }, shapeOf(checkpoint)) ?? "";
  return { suggestedPath: apart ?? trainingPath ?? unknown, trainingPath, watched: places.watched };
}

/** Describes what the programs of a node do; null where it watches no run. */
export const trainingOf = ({ report }: Pick<LiveNode, "report">): string | null =>
  report === null ? null : trainingWords(report.runs, report.at);
