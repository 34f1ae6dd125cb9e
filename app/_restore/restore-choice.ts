import { compileTensorPattern } from "#protocol/checkpoint/tensor-pattern.ts";
import { kindAt, nameOfPlace, type ShownPlace } from "#protocol/checkpoint/place.ts";
import type { RestoreCandidate, RestorePlan } from "#protocol/wire/views.ts";

/** The checkpoint and target that a restore dialog opens with. */
export interface RestoreRequest {
  /** Null lets the person choose the run first. */
  checkpointId: string | null;
  nodeId: string | null;
}

/** What the person changed; null keeps what was suggested. */
export interface RestoreChoice {
  nodeId: string | null;
  targetPath: string | null;
  /** Further nodes. */
  also: readonly string[];
  /** Null: all files. */
  files: readonly string[] | null;
  /** As they are typed, one a line; null: whole files. */
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

/** A question travels in an address, which has its limits. */
const MOST_CHARACTERS = 6_000;

/** The files that a plan is asked for; null: all, also where too many were chosen to name them. */
export const planned = (files: RestoreChoice["files"]): RestoreChoice["files"] =>
  files === null || files.length === 0 || JSON.stringify(files).length > MOST_CHARACTERS ? null : files;

/** The patterns of what was typed; null: whole files. */
export const patternsOf = (tensors: string | null): string[] | null =>
  tensors === null ? null : [...new Set(tensors.split("\n").map((line) => line.trim()))].filter((line) => line !== "");

/** What the page takes: more is for the command line. */
const MOST_TYPED = 4_000;

/** Why what was typed cannot be asked for. */
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

/** As the hub is asked for it. */
export function askedChoice({ files, patterns }: AskedFor): AskedChoice {
  const only = files === null ? null : { files: [...files] };
  return patterns === null || patterns.length === 0 ? only : { tensors: [...patterns], ...only };
}

export const pathWrong = (path: string): string | undefined =>
  path.startsWith("/") && path.length > 1 && !path.split("/").includes("..")
    ? undefined
    : "an absolute folder on the node, without '..'";

/**
 * How long restores of these nodes take when so many go at a time, in this order; null when of one it is not known. A place
 * that becomes free is taken by the next.
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

/** `about $1.20` for so many nodes; null where nothing is known of prices. */
export function costWords(cost: RestorePlan["cost"], nodes: number): string | null {
  if (cost === null) return null;
  const total = cost.total * nodes;
  const sign = cost.currency === "EUR" ? "€" : "$";
  if (total === 0) return "no charge for it";
  return total < 0.01 ? `less than ${sign}0.01` : `about ${sign}${total.toFixed(2)}`;
}

/** What the provider lets leave for nothing, which the estimate leaves out. */
export function freeWords(cost: RestorePlan["cost"]): string {
  const free = cost?.free ?? null;
  if (free === null) return "";
  const parts = [
    ...(free.gb > 0 ? [`${free.gb} GB a month`] : []),
    ...(free.timesStored > 0 ? [`${free.timesStored} times what is stored`] : []),
  ];
  return `; ${parts.join(" and ")} may leave for nothing`;
}

/** Says how a restore puts the checkpoint down: as what, under which name, in which folder. */
export interface PutWhere {
  what: string;
  name: string;
  folder: string;
  note: string;
}

/** Returns where exactly a restore puts the checkpoint; null while the path cannot be used. */
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

/** Returns whether each of several nodes uses its own folder for restores: nobody chose a path, and the node shown has such a folder. */
export const usesOwnFolders = ({ also, targetPath }: RestoreChoice, plan: RestorePlan): boolean =>
  also.length > 0 && targetPath === null && plan.suggestedPath !== plan.trainingPath;

/** The nodes that were chosen, the first one first. */
export const chosenNodes = (plan: RestorePlan, nodeId: string | null, also: readonly string[]): RestoreCandidate[] =>
  [nodeId, ...also].flatMap((id) => plan.candidates.find((candidate) => candidate.nodeId === id) ?? []);
