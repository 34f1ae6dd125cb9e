import { lstat, readFile, readlink, symlink } from "node:fs/promises";
import { basename, dirname, join, relative } from "node:path";
import { BESIDE_FOLDER, isPointerName, mayLieBeside, type BesideFile } from "#protocol/checkpoint/place.ts";
import { removeOwned, renameOwned } from "#worker/base/disk/change-disk.ts";
import { codeOf, diskFault } from "#worker/base/disk-fault.ts";
import { syncFolder } from "#worker/base/journal.ts";
import type { BesideAt } from "./layout.ts";
import { placesOf, type Places, type Replaced } from "./put-in-place.ts";
import { makeParents, placeUnder } from "./safe-place.ts";
import { keepAs } from "./set-aside.ts";

/** Moves the files that go beside a checkpoint out of its folder. Faults: WRITE_FAILED. */
export async function splitBeside({ staging, parts }: Places): Promise<void> {
  try {
    await removeOwned("restore-part", parts);
    await renameOwned("restore-part", join(staging, BESIDE_FOLDER), parts);
  } catch (error) {
    if (codeOf(error) === "ENOENT") return;
    throw diskFault(error, { op: "restore", subject: staging, otherwise: "WRITE_FAILED" });
  }
}

/**
 * Puts pointers, settings and links beside a restored checkpoint. A pointer replaces one that names another checkpoint, which
 * is kept aside. Existing settings and files stay as they are. Faults: WRITE_FAILED, NO_SPACE, HOSTILE_NAME.
 */
export async function putBeside(
  { parts }: Places,
  beside: BesideAt,
  about: { transferId: string; replaced: Replaced },
): Promise<void> {
  try {
    for (const entry of beside.entries) await putOne(parts, beside.root, { entry, ...about });
    await syncFolder(beside.root);
    await removeOwned("restore-part", parts);
  } catch (error) {
    throw diskFault(error, { op: "restore", subject: beside.root, otherwise: "WRITE_FAILED" });
  }
}

async function putOne(
  parts: string,
  root: string,
  { entry, transferId, replaced }: { entry: BesideFile; transferId: string; replaced: Replaced },
): Promise<void> {
  const target = placeUnder(root, entry.path);
  if ("link" in entry) {
    await makeParents(root, target);
    return putLink(target, placeUnder(root, entry.link), { transferId, replaced });
  }
  // The manifest comes from another machine, and could name a program.
  if (!mayLieBeside(basename(target))) return;
  const source = placeUnder(parts, entry.file.slice(BESIDE_FOLDER.length + 1));
  const old = await readFile(target).catch(() => null);
  const isThere = await exists(target);
  if (isThere && !isPointerName(basename(target))) return;
  const fresh = await readFile(source);
  if (old?.equals(fresh) === true) return;
  await makeParents(root, target);
  if (isThere) await moveAway(target, { transferId, replaced });
  await renameOwned("restore-part", source, target);
}

/** Creates a link; replaces only another link. */
async function putLink(target: string, to: string, about: { transferId: string; replaced: Replaced }): Promise<void> {
  const way = relative(dirname(target), to);
  const old = await readlink(target).catch(() => null);
  if (old === way || (old === null && (await exists(target)))) return;
  if (old !== null) await moveAway(target, about);
  await symlink(way, target);
}

async function moveAway(
  target: string,
  { transferId, replaced }: { transferId: string; replaced: Replaced },
): Promise<void> {
  const { aside } = placesOf(target, transferId);
  await renameOwned("replaced", target, aside);
  const place = await keepAs(aside, target);
  replaced.onKept?.(place);
}

const exists = (path: string): Promise<boolean> =>
  lstat(path).then(
    () => true,
    () => false,
  );
