import { randomUUID } from "node:crypto";
import { existsSync } from "node:fs";
import { writeFile } from "node:fs/promises";
import { dirname, join } from "node:path";
import { unlinkOwned } from "./change-disk.ts";

/**
 * Finds out whether the disk takes names that differ in case alone for one (exFAT, NTFS, ext4 with casefold, a share of a Mac), by a file of
 * no length in the folder, or in the first above it that is there. Where nothing can be written it says no: then nothing else can be either.
 */
export async function foldsNames(folder: string): Promise<boolean> {
  let at = folder;
  while (!existsSync(at) && dirname(at) !== at) at = dirname(at);
  const id = randomUUID();
  const path = join(at, `.list-${id}`);
  try {
    await writeFile(path, "", { flag: "wx" });
  } catch {
    return false;
  }
  try {
    return existsSync(join(at, `.LIST-${id}`));
  } finally {
    await unlinkOwned("nameless-file", path);
  }
}
