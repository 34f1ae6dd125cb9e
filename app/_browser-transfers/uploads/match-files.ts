import type { ChosenFile } from "../file-access.ts";
import type { KeptFile } from "./kept.ts";

/** Finds the files of an interrupted upload among files that were chosen again, wherever they are in the choice. */

type Missing = Pick<KeptFile, "path" | "sizeBytes" | "modifiedAt">;

export const lastName = (path: string): string => path.slice(path.lastIndexOf("/") + 1);

/** Returns how many trailing segments two paths share. */
function commonEnd(a: string, b: string): number {
  const [first, second] = [a.split("/").toReversed(), b.split("/").toReversed()];
  const end = first.findIndex((segment, at) => segment !== second[at]);
  return end === -1 ? first.length : end;
}

const isSamePlace = (a: string, b: string): boolean =>
  commonEnd(a, b) >= Math.min(a.split("/").length, b.split("/").length);

export interface Matched<File> {
  found: Map<File, ChosenFile>;
  /** Files whose place holds another file: size or time differ. */
  changed: File[];
  missing: File[];
}

/** Matches files by name, size and time. Among several candidates, the longest common path suffix wins. */
export function matchFiles<File extends Missing>(files: readonly File[], chosen: readonly ChosenFile[]): Matched<File> {
  const byName = Map.groupBy(chosen, ({ path }) => lastName(path));
  const matched: Matched<File> = { found: new Map(), changed: [], missing: [] };
  for (const file of files) {
    const named = byName.get(lastName(file.path)) ?? [];
    let best: ChosenFile | null = null;
    for (const one of named) {
      if (one.file.size !== file.sizeBytes || one.file.lastModified !== file.modifiedAt) continue;
      if (best === null || commonEnd(one.path, file.path) > commonEnd(best.path, file.path)) best = one;
    }
    if (best !== null) matched.found.set(file, best);
    else if (named.some(({ path }) => isSamePlace(path, file.path))) matched.changed.push(file);
    else matched.missing.push(file);
  }
  return matched;
}
