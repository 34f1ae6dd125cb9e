import * as z from "zod";
import { filePath } from "../base/names.ts";

/** What a checkpoint is besides the bytes of its files: who may read and execute them, and folders without a file in them. */

/** Read, write and execute of owner, group and others; no bit that changes who a program runs as. */
const mode = z.number().int().min(0).max(0o777);
const MOST_FILES = 50_000;
/** More are left out: no program makes so many. */
export const MOST_EMPTY_FOLDERS = 1_000;

export const fileAttributes = z.object({
  /** Of all files that `others` does not name. */
  mode,
  /** By their place among the files of the manifest. */
  others: z.array(z.tuple([z.number().int().min(0).max(MOST_FILES), mode])).max(MOST_FILES),
  emptyFolders: z.array(filePath).max(MOST_EMPTY_FOLDERS),
});
export type FileAttributes = z.infer<typeof fileAttributes>;

/** What files get that nobody said a mode of. */
const USUAL_MODE = 0o644;

/** Returns the attributes of files in their order, `undefined` where a mode is not known; null where there is nothing to say. */
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

/** Returns the mode of the file at this place. */
export const modesOf = ({ mode: usual, others }: FileAttributes): ((index: number) => number) => {
  const own = new Map(others);
  return (index) => own.get(index) ?? usual;
};
