import { constants, open, readFile } from "node:fs/promises";
import { dirname } from "node:path";
import type * as z from "zod";
import { removeOwned, renameOwned } from "../base/disk/change-disk.ts";
import { codeOf, diskFault } from "../base/disk-fault.ts";
import { syncFolder } from "../base/journal.ts";

/** Flags to create a new file: opening fails when the path exists, also as a symbolic link that someone else planted. */
export const NEW_FILE = constants.O_WRONLY | constants.O_CREAT | constants.O_EXCL | constants.O_NOFOLLOW;

/** Writes a small JSON file atomically, readable by its owner only. @throws Fault NO_SPACE, WRITE_FAILED */
export async function writeStateFile(path: string, value: unknown): Promise<void> {
  try {
    const fresh = `${path}.new`;
    // Left by a killed process, or planted by another user.
    await removeOwned("state-file", fresh);
    const handle = await open(fresh, NEW_FILE, 0o600);
    try {
      await handle.writeFile(`${JSON.stringify(value, null, 2)}\n`);
      await handle.sync();
    } finally {
      await handle.close();
    }
    await renameOwned("state-file", fresh, path);
    await syncFolder(dirname(path));
  } catch (error) {
    throw diskFault(error, { op: "write", subject: path, otherwise: "WRITE_FAILED" });
  }
}

/** Returns the file's content; null when it is missing or does not fit the schema. @throws Fault READ_FAILED */
export async function readStateFile<T>(path: string, schema: z.ZodType<T>): Promise<T | null> {
  try {
    const parsed = schema.safeParse(JSON.parse(await readFile(path, "utf8")));
    return parsed.success ? parsed.data : null;
  } catch (error) {
    if (codeOf(error) === "ENOENT" || error instanceof SyntaxError) return null;
    throw diskFault(error, { op: "read", subject: path, otherwise: "READ_FAILED" });
  }
}
