import * as z from "zod";
import { filePath } from "../base/names.ts";

/** Attributes of a checkpoint besides file content: the modes of its files, and folders without files. */

/** Read, write and execute bits of owner, group and others; never set-user-ID, set-group-ID or sticky. */
const mode = z.number().int().min(0).max(0o777);
const MOST_FILES = 50_000;
/** Further empty folders are left out: no program makes so many. */
export const MOST_EMPTY_FOLDERS = 1_000;

export const fileAttributes = z.object({
  /** Mode of all files that `others` does not name. */
  mode,
  /** Pairs of a file's index in the manifest and its mode. */
  others: z.array(z.tuple([z.number().int().min(0).max(MOST_FILES), mode])).max(MOST_FILES),
  emptyFolders: z.array(filePath).max(MOST_EMPTY_FOLDERS),
});
export type FileAttributes = z.infer<typeof fileAttributes>;

/** Mode when no mode of any file is known. */
const USUAL_MODE = 0o644;

/** Returns the attributes of files in their order, `undefined` for an unknown mode; null when there is nothing to record. */
export function attributesOf(
  modes: readonly (number | undefined)[],
  emptyFolders: readonly string[],
): FileAttributes | null {
  const counts = new Map<number, number>();
  for (const one of modes) if (one !== undefined) counts.set(one, (counts.get(one) ?? 0) + 1);
  const [usual = USUAL_MODE] = [...counts].toSorted((a, b) => b[1] - a[1]).map(([one]) => one);
  const folders = emptyFolders.flatMap((folder) => filePath.safeParse(folder).data ?? []).slice(0, MOST_EMPTY_FOLDERS);
  if (counts.size === 0 && folders.length === 0) return null;
  const others = modes.flatMap((one, index): [number, number][] =>
    one === undefined || one === usual ? [] : [[index, one]],
  );
  return { mode: usual, others, emptyFolders: folders };
}

/** Returns a function that gives the mode of a file by its index in the manifest. */
export const modesOf = ({ mode: usual, others }: FileAttributes): ((index: number) => number) => {
  const own = new Map(others);
  return (index) => own.get(index) ?? usual;
};
