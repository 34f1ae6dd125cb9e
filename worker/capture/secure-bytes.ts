import { constants, copyFile, link, realpath } from "node:fs/promises";
import { Fault } from "#protocol/faults/fault.ts";
import { codeOf, diskFault } from "../base/disk-fault.ts";
import type { Candidate } from "./detection/find.ts";

/**
 * Secures the bytes of one file against the program that wrote it. A clone (reflink) costs nothing and is independent, so it is
 * tried first. A hard link costs nothing either, but shares the program's own file: a later write in place changes the capture.
 * So files are linked rather than copied only where the framework renames finished files into place as a whole and never opens
 * them again. Safetensors is not such a format: its Python library rewrote files in place up to 0.7, and no file says which
 * version wrote it.
 *
 * On a disk without room for a copy, a checkpoint with its own step in its name is linked anyway. The next step goes to
 * another name, and a rewrite would be noticed when it is sent (SOURCE_CHANGED). Refused, it would be lost for certain.
 */
export type Linking = "rather than copied" | "rather than refused" | "never";

/** Orbax writes into a folder with a temporary name and renames it when complete; this file marks such a folder. */
const ORBAX_MARKER = "_CHECKPOINT_METADATA";

export function linkingOf({ name, step }: Pick<Candidate, "name" | "step">, files: readonly string[]): Linking {
  if (files.includes(ORBAX_MARKER)) return "rather than copied";
  const number = /(\d{1,12})\D*$/.exec(name)?.[1];
  return number !== undefined && Number(number) === step ? "rather than refused" : "never";
}

/**
 * Clones, links or copies one file. `canCopy`: there is room for a copy. Copies are made outside of the worker's own thread, at
 * the low priority of its process. Faults: NO_SPACE, SOURCE_CHANGED when the file is gone, READ_FAILED, WRITE_FAILED.
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

/** Returns the Fault of a failed copy by its cause: the program removed the file, it cannot be read, or our own disk failed. */
export function copyFault(error: unknown, subject: string): Fault {
  const code = codeOf(error);
  if (code === "ENOENT") {
    return new Fault("SOURCE_CHANGED", { op: "capture", subject, detail: "it was removed while it was captured" });
  }
  const isSource = code === "EACCES" || code === "EPERM" || code === "EIO";
  return diskFault(error, { op: "capture", subject, otherwise: isSource ? "READ_FAILED" : "WRITE_FAILED" });
}
