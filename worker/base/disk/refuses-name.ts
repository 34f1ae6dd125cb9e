import { randomUUID } from "node:crypto";
import { mkdir, writeFile } from "node:fs/promises";
import { dirname, join } from "node:path";
import { codeOf } from "../disk-fault.ts";
import { isThere } from "./is-there.ts";
import { removeOwned, unlinkOwned } from "./change-disk.ts";

/** Errors of file systems for a name that they cannot hold: exFAT for a colon, encrypted ones for 144 bytes and more. */
const OF_THE_NAME: ReadonlySet<string | null> = new Set(["EINVAL", "ENAMETOOLONG", "EILSEQ", "EPROTO"]);

/**
 * Returns whether the disk refuses a name. Tests with an empty file in a folder of its own, beside `folder` or in its nearest
 * existing parent. Where nothing can be written it returns false: no other file can be written there either.
 */
export async function refusesName(folder: string, name: string): Promise<boolean> {
  let at = folder;
  while (!(await isThere(at)) && dirname(at) !== at) at = dirname(at);
  const scratch = join(at, `.names.restoring-${randomUUID()}`);
  try {
    await mkdir(scratch);
  } catch {
    return false;
  }
  try {
    await writeFile(join(scratch, name), "", { flag: "wx" });
    await unlinkOwned("restore-part", join(scratch, name));
    return false;
  } catch (error) {
    return OF_THE_NAME.has(codeOf(error));
  } finally {
    await removeOwned("restore-part", scratch);
  }
}
