import { constants, link, open, readFile } from "node:fs/promises";
import { dirname } from "node:path";
import type * as z from "zod";
import { removeOwned, renameOwned } from "../base/disk/change-disk.ts";
import { codeOf, diskFault } from "../base/disk-fault.ts";
import { syncFolder } from "../base/journal.ts";

/** Flags to create a new file: opening fails when the path exists, also as a symbolic link that someone else planted. */
export const NEW_FILE = constants.O_WRONLY | constants.O_CREAT | constants.O_EXCL | constants.O_NOFOLLOW;

/** Error codes of a disk without hard links. */
const NO_LINKS: ReadonlySet<string | null> = new Set(["EPERM", "ENOTSUP", "EOPNOTSUPP", "ENOSYS", "EMLINK"]);

/**
 * Writes a new file that only its owner can read, whole or not at all: a full disk or a crash leaves nothing under its name.
 * Never overwrites. Throws errors of the disk; EEXIST when something is there.
 */
export async function writeNewFile(path: string, text: string): Promise<void> {
  const fresh = `${path}.${process.pid}.tidemark-new`;
  try {
    // Left by a killed process, or planted by another user.
    await removeOwned("fresh-file", fresh);
    await writeSynced(fresh, text);
    await link(fresh, path).catch(async (error: unknown) => {
      if (!NO_LINKS.has(codeOf(error))) throw error;
      // Takes the name, which fails where something is there, and then the place.
      await (await open(path, NEW_FILE, 0o600)).close();
      await renameOwned("fresh-file", fresh, path);
    });
  } finally {
    await removeOwned("fresh-file", fresh).catch(() => undefined);
  }
  await syncFolder(dirname(path));
}

async function writeSynced(path: string, text: string): Promise<void> {
  const handle = await open(path, NEW_FILE, 0o600);
  try {
    await handle.writeFile(text);
    await handle.sync();
  } finally {
    await handle.close();
  }
}

/** Writes a small JSON file atomically, readable by its owner only. @throws Fault NO_SPACE, WRITE_FAILED */
export async function writeStateFile(path: string, value: unknown): Promise<void> {
  const fresh = `${path}.new`;
  try {
    // Left by a killed process, or planted by another user.
    await removeOwned("state-file", fresh);
    await writeSynced(fresh, `${JSON.stringify(value, null, 2)}\n`);
    await renameOwned("state-file", fresh, path);
    await syncFolder(dirname(path));
  } catch (error) {
    await removeOwned("state-file", fresh).catch(() => undefined);
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
