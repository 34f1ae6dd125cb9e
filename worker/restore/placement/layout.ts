import { basename, sep } from "node:path";
import type { StoredManifest } from "#protocol/checkpoint/adopted.ts";
import {
  isBeside,
  kindAt,
  nameOfPlace,
  placeOf,
  type BesideFile,
  type CheckpointPlace,
} from "#protocol/checkpoint/place.ts";

/** Form of a checkpoint at its target: a folder of its own, or files in a folder that may hold others. */
export type Layout = {
  /** Whether its name at the target is the one that its program gave it. */
  isOwnName: boolean;
} & ({ kind: "folder" } | { kind: "files"; names: readonly string[] });

export type Placed = Pick<StoredManifest, "step" | "files"> & {
  role?: string | undefined;
  place?: CheckpointPlace | undefined;
  origin?: { place: string; kind: "folder" | "file" } | undefined;
};

/** Returns how a checkpoint lies at `target`, as `kindAt` says. */
export function layoutOf(manifest: Placed, target: string): Layout {
  const place = placeOf(manifest, manifest.place);
  const isOwnName = nameOfPlace(place.path) === basename(target) && manifest.place !== undefined;
  if (kindAt(place, target) === "folder") return { kind: "folder", isOwnName };
  return { kind: "files", isOwnName, names: ownFiles(manifest.files).map((file) => file.path) };
}

/** Returns the files of the checkpoint itself, without those beside it. */
export const ownFiles = <F extends { path: string }>(files: readonly F[]): F[] =>
  files.filter(({ path }) => !isBeside(path));

/** Files and links that go beside a checkpoint, below `root`. */
export interface BesideAt {
  root: string;
  entries: readonly BesideFile[];
}

/** Returns what goes beside the target; null when the target's path is not the one in its watched folder. */
export function besideAt({ place }: Placed, target: string): BesideAt | null {
  const entries = place?.beside ?? [];
  if (place === undefined || entries.length === 0) return null;
  const below = sep + place.path.replaceAll("/", sep);
  return target.endsWith(below) ? { root: target.slice(0, -below.length) || sep, entries } : null;
}
