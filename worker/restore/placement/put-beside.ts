import { lstat, mkdir, readFile, readlink, symlink } from "node:fs/promises";
import { basename, dirname, join, relative } from "node:path";
import { BESIDE_FOLDER, isPointerName, mayLieBeside, type BesideFile } from "#protocol/checkpoint/place.ts";
import { removeOwned, renameOwned } from "#worker/base/disk/change-disk.ts";
import { codeOf, diskFault } from "#worker/base/disk-fault.ts";
import { syncFolder } from "#worker/base/journal.ts";
import { giveBesideToOwners } from "./give-attributes.ts";
import type { BesideAt } from "./layout.ts";
import type { MadeFolders } from "./make-folders.ts";
import { otherOwnerOf, type OnRefused, type Owner } from "./owner.ts";
import { placesOf, type Places, type Replaced } from "./put-in-place.ts";
import { placeUnder } from "./safe-place.ts";
import { keepAs } from "./set-aside.ts";

/** Returns the path of what waits for its place beside the checkpoint, in the folder `parts`. */
const partOf = (entry: BesideFile, index: number): string =>
  "link" in entry ? `.link-${index}` : entry.file.slice(BESIDE_FOLDER.length + 1);

/**
 * Moves the files that go beside a checkpoint out of its folder, makes the links, and gives all of them the owner of their
 * future folder. Faults: WRITE_FAILED, NO_SPACE, HOSTILE_NAME.
 */
export async function splitBeside(
  { staging, parts }: Places,
  { root, entries }: BesideAt,
  onRefused?: OnRefused,
): Promise<void> {
  try {
    await removeOwned("restore-part", parts);
    await renameOwned("restore-part", join(staging, BESIDE_FOLDER), parts).catch(async (error: unknown) => {
      if (codeOf(error) !== "ENOENT") throw error;
      await mkdir(parts);
    });
    const owners = new Map<string, Owner>();
    for (const [index, entry] of entries.entries()) {
      const target = placeUnder(root, entry.path);
      const part = partOf(entry, index);
      if ("link" in entry) await symlink(relative(dirname(target), placeUnder(root, entry.link)), join(parts, part));
      const owner = await otherOwnerOf(dirname(target));
      if (owner !== null) owners.set(part, owner);
    }
    await giveBesideToOwners(parts, { owners, onRefused });
  } catch (error) {
    throw diskFault(error, { op: "restore", subject: staging, otherwise: "WRITE_FAILED" });
  }
}

interface Putting {
  transferId: string;
  replaced: Replaced;
  folders: Pick<MadeFolders, "makeBelow">;
}

/**
 * Puts pointers, settings and links beside a restored checkpoint. A pointer replaces one that names another checkpoint, which
 * is kept aside. Existing settings and files stay as they are. Faults: WRITE_FAILED, NO_SPACE, HOSTILE_NAME.
 */
export async function putBeside({ parts }: Places, { root, entries }: BesideAt, about: Putting): Promise<void> {
  try {
    for (const [index, entry] of entries.entries()) {
      const target = placeUnder(root, entry.path);
      const source = placeUnder(parts, partOf(entry, index));
      if ("link" in entry) {
        await about.folders.makeBelow(root, dirname(target));
        await putLink(source, target, about);
      } else await putFile(source, { root, target }, about);
    }
    await syncFolder(root);
    await removeOwned("restore-part", parts);
  } catch (error) {
    throw diskFault(error, { op: "restore", subject: root, otherwise: "WRITE_FAILED" });
  }
}

async function putFile(
  source: string,
  { root, target }: { root: string; target: string },
  about: Putting,
): Promise<void> {
  // The manifest comes from another machine, and could name a program.
  if (!mayLieBeside(basename(target))) return;
  const old = await readFile(target).catch(() => null);
  const isThere = await exists(target);
  if (isThere && !isPointerName(basename(target))) return;
  const fresh = await readFile(source);
  if (old?.equals(fresh) === true) return;
  await about.folders.makeBelow(root, dirname(target));
  if (isThere) await moveAway(target, about);
  await renameOwned("restore-part", source, target);
}

/** Puts a link in place; replaces only another link. */
async function putLink(source: string, target: string, about: Putting): Promise<void> {
  const old = await readlink(target).catch(() => null);
  if (old === (await readlink(source)) || (old === null && (await exists(target)))) return;
  if (old !== null) await moveAway(target, about);
  await renameOwned("restore-part", source, target);
}

async function moveAway(target: string, { transferId, replaced }: Putting): Promise<void> {
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
