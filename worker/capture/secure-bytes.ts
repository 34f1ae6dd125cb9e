import { constants, copyFile, link, realpath } from "node:fs/promises";
import { Fault } from "#protocol/faults/fault.ts";
import { codeOf, diskFault } from "../base/disk-fault.ts";
import type { Candidate } from "./detection/find.ts";

/**
 * Makes the bytes of one file safe from the program that wrote it. A clone costs nothing and is ours alone, so it is tried
 * first. A hard link costs nothing either, but it is the program's own file: written again in place, it changes the
 * capture. So files are linked rather than copied only where the framework renames what it has finished into place as a
 * whole and never opens it again. Safetensors is not such a format: its Python library kept the file and wrote it anew up
 * to 0.7, and no file says which version wrote it.
 *
 * On a disk that has no room for a copy, a checkpoint that carries its own step in its name is linked all the same: the
 * next step goes to another name, and should it be written again after all, that is noticed when it is sent
 * (SOURCE_CHANGED). Refused it would be lost for certain.
 */
export type Linking = "rather than copied" | "rather than refused" | "never";

/** Orbax writes into a folder with a temporary name and renames it when all of it is there; this file marks it as one. */
const ORBAX_MARKER = "_CHECKPOINT_METADATA";

export function linkingOf({ name, step }: Pick<Candidate, "name" | "step">, files: readonly string[]): Linking {
  if (files.includes(ORBAX_MARKER)) return "rather than copied";
  const number = /(\d{1,12})\D*$/.exec(name)?.[1];
  return number !== undefined && Number(number) === step ? "rather than refused" : "never";
}

/**
 * `canCopy`: there is room for it. Copies are made outside of the worker's own thread, at the low priority of its process.
 * Faults: NO_SPACE, SOURCE_CHANGED when the file is gone, READ_FAILED, WRITE_FAILED.
 */
export async function secureBytes(
  from: string,
  at: string,
  how: { canCopy: boolean; linking: Linking },
): Promise<void> {
  if (await succeeds(copyFile(from, at, constants.COPYFILE_FICLONE_FORCE))) return;
  const { canCopy, linking } = how;
  const isLinkWanted = linking === "rather than copied" || (linking === "rather than refused" && !canCopy);
  if (isLinkWanted && (await succeeds(linkTo(from, at)))) return;
  if (!canCopy) throw new Fault("NO_SPACE", { op: "capture", subject: from });
  await copyFile(from, at).catch((error: unknown) => {
    throw copyFault(error, from);
  });
}

const succeeds = (work: Promise<void>): Promise<boolean> =>
  work.then(
    () => true,
    () => false,
  );

const linkTo = async (from: string, at: string): Promise<void> => link(await realpath(from), at);

/** Who is to blame when a copy fails: the program that took the file away, the file, or our own disk. */
export function copyFault(error: unknown, subject: string): Fault {
  const code = codeOf(error);
  if (code === "ENOENT") {
    return new Fault("SOURCE_CHANGED", { op: "capture", subject, detail: "it was removed while it was captured" });
  }
  const isSource = code === "EACCES" || code === "EPERM" || code === "EIO";
  return diskFault(error, { op: "capture", subject, otherwise: isSource ? "READ_FAILED" : "WRITE_FAILED" });
}
