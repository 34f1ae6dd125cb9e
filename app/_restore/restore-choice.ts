import { compileTensorPattern } from "#protocol/checkpoint/tensor-pattern.ts";
import { kindAt, nameOfPlace, type ShownPlace } from "#protocol/checkpoint/place.ts";
import type { RestoreCandidate, RestorePlan } from "#protocol/wire/views.ts";

/** The checkpoint and target that a restore dialog opens with. */
export interface RestoreRequest {
  /** Null lets the person choose the run first. */
  checkpointId: string | null;
  nodeId: string | null;
}

/** Choices of the person; null keeps the suggestion. */
export interface RestoreChoice {
  nodeId: string | null;
  targetPath: string | null;
  /** Further nodes to restore to. */
  also: readonly string[];
  /** Null restores all files. */
  files: readonly string[] | null;
  /** Typed tensor patterns, one per line; null restores whole files. */
  tensors: string | null;
  mayFallBack: boolean;
}

export const nothingChosen = (nodeId: string | null): RestoreChoice => ({
  nodeId,
  targetPath: null,
  also: [],
  files: null,
  tensors: null,
  mayFallBack: true,
});

/** Longest list of files in a query, in characters, because queries are sent in a URL. */
const MOST_CHARACTERS = 6_000;

/** Returns the files for the plan query; null plans all files, also when too many were chosen for a URL. */
export const planned = (files: RestoreChoice["files"]): RestoreChoice["files"] =>
  files === null || files.length === 0 || JSON.stringify(files).length > MOST_CHARACTERS ? null : files;

/** Returns the typed patterns; null restores whole files. */
export const patternsOf = (tensors: string | null): string[] | null =>
  tensors === null ? null : [...new Set(tensors.split("\n").map((line) => line.trim()))].filter((line) => line !== "");

/** Most characters of patterns; larger sets need the command line. */
const MOST_TYPED = 4_000;

/** Returns why the patterns are invalid; undefined when they are valid. */
export function patternsWrong(tensors: string | null): string | undefined {
  if (tensors !== null && tensors.length > MOST_TYPED)
    return `more than ${MOST_TYPED} characters: use tidemark restore --tensors`;
  for (const pattern of patternsOf(tensors) ?? []) {
    const compiled = compileTensorPattern(pattern);
    if ("reason" in compiled) return `${pattern}: ${compiled.reason}`;
  }
  return undefined;
}

interface AskedFor {
  files: readonly string[] | null;
  patterns: readonly string[] | null;
}
export type AskedChoice = { tensors: string[]; files?: string[] } | { files: string[] } | null;

/** Returns the choice as input for the hub. */
export function askedChoice({ files, patterns }: AskedFor): AskedChoice {
  const only = files === null ? null : { files: [...files] };
  return patterns === null || patterns.length === 0 ? only : { tensors: [...patterns], ...only };
}

export const pathWrong = (path: string): string | undefined =>
  path.startsWith("/") && path.length > 1 && !path.split("/").includes("..")
    ? undefined
    : "an absolute folder on the node, without '..'";

/**
 * Returns how long the restores of these nodes take in total, with `atOnce` at a time in the given order. Each free slot is
 * taken by the next node. Null when the time of one is unknown.
 */
export function wholeTimeMs(etasMs: readonly (number | null)[], atOnce: number): number | null {
  const places = Array.from({ length: Math.max(1, Math.min(atOnce, etasMs.length)) }, () => 0);
  for (const eta of etasMs) {
    if (eta === null) return null;
    const first = places.indexOf(Math.min(...places));
    places[first] = (places[first] ?? 0) + eta;
  }
  return Math.max(...places);
}

/** Returns the cost for a number of nodes, such as `about $1.20`; null when prices are unknown. */
export function costWords(cost: RestorePlan["cost"], nodes: number): string | null {
  if (cost === null) return null;
  const total = cost.total * nodes;
  const sign = cost.currency === "EUR" ? "€" : "$";
  if (total === 0) return "no charge for it";
  return total < 0.01 ? `less than ${sign}0.01` : `about ${sign}${total.toFixed(2)}`;
}

/** Returns the provider's free egress, which the estimate leaves out; empty when there is none. */
export function freeWords(cost: RestorePlan["cost"]): string {
  const free = cost?.free ?? null;
  if (free === null) return "";
  const parts = [
    ...(free.gb > 0 ? [`${free.gb} GB a month`] : []),
    ...(free.timesStored > 0 ? [`${free.timesStored} times what is stored`] : []),
  ];
  return `; ${parts.join(" and ")} may leave for nothing`;
}

/** Kind, name and folder in which the checkpoint is restored. */
export interface PutWhere {
  what: string;
  name: string;
  folder: string;
  note: string;
}

/** Returns where a restore puts the checkpoint; null while the path is invalid. */
export function putWhere({ place }: Pick<RestorePlan, "place">, targetPath: string): PutWhere | null {
  if (pathWrong(targetPath) !== undefined) return null;
  const path = targetPath.replace(/\/+$/, "");
  const name = nameOfPlace(path);
  const kind = kindAt(place, path);
  return {
    what: { folder: "the folder", file: "the file", files: "the files of this step, first" }[kind],
    name,
    folder: path.slice(0, path.length - name.length - 1) || "/",
    note: noteOf(place, { path, name }),
  };
}

function noteOf(place: ShownPlace, { path, name }: { path: string; name: string }): string {
  if (path.endsWith(`/${place.path}`) && place.path.includes("/")) return "the place where it lay";
  const own = nameOfPlace(place.path);
  if (name === own) return "its own name";
  return place.kind === "folder" ? `it was called ${own}` : `with ${own} in it: the path has another name`;
}

/**
 * Returns whether each of several nodes uses its own restore folder: no path was chosen, and the shown node has such a folder.
 */
export const usesOwnFolders = ({ also, targetPath }: RestoreChoice, plan: RestorePlan): boolean =>
  also.length > 0 && targetPath === null && plan.suggestedPath !== plan.trainingPath;

/** Returns the chosen nodes, the main node first. */
export const chosenNodes = (plan: RestorePlan, nodeId: string | null, also: readonly string[]): RestoreCandidate[] =>
  [nodeId, ...also].flatMap((id) => plan.candidates.find((candidate) => candidate.nodeId === id) ?? []);
