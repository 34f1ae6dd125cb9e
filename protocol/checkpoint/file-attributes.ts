import * as z from "zod";
import { filePath, type FilePath } from "../base/names.ts";

/** Attributes of a checkpoint besides file content: the modes of its files and folders, and folders without files. */

/** Read, write and execute bits of owner, group and others; never set-user-ID, set-group-ID or sticky. */
const mode = z.number().int().min(0).max(0o777);
const MOST_FILES = 50_000;
/** Further empty folders are left out: no program makes so many. */
export const MOST_EMPTY_FOLDERS = 1_000;
/** Modes of further folders that differ from the usual one are left out. */
const MOST_OTHER_FOLDERS = 10_000;

export const fileAttributes = z.object({
  /** Mode of all files that `others` does not name. */
  mode,
  /** Pairs of a file's index in the manifest and its mode. */
  others: z.array(z.tuple([z.number().int().min(0).max(MOST_FILES), mode])).max(MOST_FILES),
  emptyFolders: z.array(filePath).max(MOST_EMPTY_FOLDERS),
  /** Modes of folders. Absent in manifests of older workers, and for files that have no folder of their own. */
  folders: z
    .object({
      /** Mode of all folders that `others` does not name. */
      mode,
      /** Pairs of a folder's path and its mode; the empty path is the checkpoint's own folder. */
      others: z.array(z.tuple([z.union([z.literal(""), filePath]), mode])).max(MOST_OTHER_FOLDERS),
    })
    .optional(),
});
export type FileAttributes = z.infer<typeof fileAttributes>;

/** Mode when no mode of any file is known. */
const USUAL_MODE = 0o644;

/** Mode of each folder by its path; the empty path is the checkpoint's own folder. */
export type FolderModes = ReadonlyMap<string, number>;

/** Returns the attributes of files in their order, `undefined` for an unknown mode; null when there is nothing to record. */
export function attributesOf(
  modes: readonly (number | undefined)[],
  emptyFolders: readonly string[],
  folderModes: FolderModes = new Map(),
): FileAttributes | null {
  const usual = mostUsual(modes.filter((one) => one !== undefined));
  const empty = emptyFolders.flatMap((folder) => filePath.safeParse(folder).data ?? []).slice(0, MOST_EMPTY_FOLDERS);
  const folders = foldersOf(folderModes);
  if (usual === null && empty.length === 0 && folders === null) return null;
  const others = modes.flatMap((one, index): [number, number][] =>
    one === undefined || one === usual ? [] : [[index, one]],
  );
  return { mode: usual ?? USUAL_MODE, others, emptyFolders: empty, ...(folders !== null && { folders }) };
}

function foldersOf(modes: FolderModes): NonNullable<FileAttributes["folders"]> | null {
  const usual = mostUsual([...modes.values()]);
  if (usual === null) return null;
  const differing = [...modes].filter(([, one]) => one !== usual);
  const others = differing.flatMap(([path, one]): [FilePath | "", number][] => {
    const name = path === "" ? path : filePath.safeParse(path).data;
    return name === undefined ? [] : [[name, one]];
  });
  return { mode: usual, others: others.slice(0, MOST_OTHER_FOLDERS) };
}

function mostUsual(modes: readonly number[]): number | null {
  const counts = new Map<number, number>();
  for (const one of modes) counts.set(one, (counts.get(one) ?? 0) + 1);
  return [...counts].toSorted((a, b) => b[1] - a[1])[0]?.[0] ?? null;
}

/** Returns a function that gives the mode of a file by its index in the manifest. */
export const modesOf = ({ mode: usual, others }: FileAttributes): ((index: number) => number) => {
  const own = new Map(others);
  return (index) => own.get(index) ?? usual;
};

/** Returns a function that gives the mode of a folder by its path; null where no modes of folders are recorded. */
export function folderModesOf({ folders }: Pick<FileAttributes, "folders">): ((path: string) => number) | null {
  if (folders === undefined) return null;
  const own = new Map<string, number>(folders.others);
  return (path) => own.get(path) ?? folders.mode;
}
