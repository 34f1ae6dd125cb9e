import { randomUUID } from "node:crypto";
import { existsSync } from "node:fs";
import { writeFile } from "node:fs/promises";
import { dirname, join } from "node:path";
import { unlinkOwned } from "./change-disk.ts";

/**
 * Returns whether the disk treats names that differ only in case as one (exFAT, NTFS, ext4 with casefold, a share of a Mac).
 * Tests with an empty file in the folder or its nearest existing parent. Where nothing can be written it returns false: no
 * other file can be written there either.
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
