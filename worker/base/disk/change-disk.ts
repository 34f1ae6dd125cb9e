import { renameSync, rmSync, unlinkSync } from "node:fs";
import { rename, rm, rmdir, unlink } from "node:fs/promises";
import { Fault } from "#protocol/faults/fault.ts";
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

/** Removes a file or a folder with all that is in it; one that is not there is no error. Faults: INTERNAL; errors of the disk. */
export async function removeOwned(owned: Exclude<Owned, "asked">, path: string): Promise<void> {
  assertOwned(owned, path);
  await rm(path, { recursive: true, force: true });
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
