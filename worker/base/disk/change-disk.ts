import { renameSync, rmSync, unlinkSync } from "node:fs";
import { chmod, lstat, readdir, rename, rm, rmdir, unlink } from "node:fs/promises";
import { join } from "node:path";
import { Fault } from "#protocol/faults/fault.ts";
import { codeOf } from "../disk-fault.ts";
import { OWNED_PATHS, type Owned } from "./owned-paths.ts";

/**
 * The only module of the worker that removes or renames anything (lint and a test hold this). Every call names what the path
 * is; a path that does not look like it is refused before the disk is touched.
 */

/** Refuses paths that the named entry does not own. @throws Fault INTERNAL */
function assertOwned(owned: Owned, ...paths: readonly string[]): void {
  if (paths.some((path) => OWNED_PATHS[owned].fits(path))) return;
  throw new Fault("INTERNAL", { op: "remove", subject: paths.join(" -> "), detail: `it is no ${owned} of Tidemark` });
}

/**
 * Removes a file or a folder with all that is in it, folders without the right to write too; one that is not there is no error.
 * Faults: INTERNAL; errors of the disk.
 */
export async function removeOwned(owned: Exclude<Owned, "asked">, path: string): Promise<void> {
  assertOwned(owned, path);
  const remove = () => rm(path, { recursive: true, force: true });
  await remove().catch(async (error: unknown) => {
    if (codeOf(error) !== "EACCES") throw error;
    await makeRemovable(path);
    await remove();
  });
}

/** Gives the owner every right to a folder and those in it; nothing is removed from a folder that may not be written. */
async function makeRemovable(path: string): Promise<void> {
  const stats = await lstat(path);
  if (!stats.isDirectory()) return;
  await chmod(path, stats.mode | 0o700);
  for (const entry of await readdir(path, { withFileTypes: true }))
    if (entry.isDirectory()) await makeRemovable(join(path, entry.name));
}

/** Does the same synchronously. */
export function removeOwnedNow(owned: Exclude<Owned, "asked">, path: string): void {
  assertOwned(owned, path);
  rmSync(path, { recursive: true, force: true });
}

/** Removes one file that is there. Faults: INTERNAL; errors of the disk. */
export async function unlinkOwned(owned: Owned, path: string): Promise<void> {
  assertOwned(owned, path);
  await unlink(path);
}

/** Does the same synchronously. */
export function unlinkOwnedNow(owned: Owned, path: string): void {
  assertOwned(owned, path);
  unlinkSync(path);
}

/** Removes an empty folder. Faults: errors of the disk (ENOTEMPTY where it is not). */
export async function removeEmptyFolder(owned: Owned, path: string): Promise<void> {
  assertOwned(owned, path);
  await rmdir(path);
}

/** Renames a path; one of the two names has to be owned. Faults: INTERNAL; errors of the disk. */
export async function renameOwned(owned: Exclude<Owned, "asked">, from: string, to: string): Promise<void> {
  assertOwned(owned, from, to);
  await rename(from, to);
}

/** Does the same synchronously. */
export function renameOwnedNow(owned: Exclude<Owned, "asked">, from: string, to: string): void {
  assertOwned(owned, from, to);
  renameSync(from, to);
}
