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

/** Beside a folder that lies straight in one of these a worker takes nothing. */
const SHARED = /^(\/(home(\/[^/]+)?|opt|root|srv|var(\/(lib|spool))?))?$/;

/** Returns where a node takes restores. An older worker names only its first watched folder, as the place whose room it tells. */
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

/** A path goes into a field as it is: one with letters that nobody sees would be another one than it looks. */
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

/** Returns the target of a restore by hand for which nobody said one; null where the node has no place outside of watched folders. */
export const defaultTarget = (node: Pick<LiveNode, "report">, checkpoint: Restored): string | null =>
  placeApart(placesOf(node), shapeOf(checkpoint));

/** Returns both offers on a node. Without a place apart the training folder is suggested. */
export function offeredPaths(
  node: Pick<LiveNode, "report"> | undefined,
  checkpoint: Restored,
  place: ShownPlace,
): { suggestedPath: string; trainingPath: string | null; watched: NodePlaces["watched"] } {
  const places = placesOf(node);
  const apart = placeApart(places, shapeOf(checkpoint));
  const trainingPath = placeInTraining(places, { run: checkpoint.run, path: place.path });
  const unknown = placeApart({ ...places, restoreFolder: "/restored" }, shapeOf(checkpoint)) ?? "";
  return { suggestedPath: apart ?? trainingPath ?? unknown, trainingPath, watched: places.watched };
}

/** Returns what the programs of a node do, in words; null where it watches no run. */
export const trainingOf = ({ report }: Pick<LiveNode, "report">): string | null =>
  report === null ? null : trainingWords(report.runs, report.at);
