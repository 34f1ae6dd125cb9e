import { closeSync, constants, futimesSync, openSync, writeSync } from "node:fs";
import { open } from "node:fs/promises";
import { unlinkOwned, unlinkOwnedNow } from "#worker/base/disk/change-disk.ts";
import { askDisk, type DiskPace } from "#worker/base/ask-disk.ts";
import { codeOf, diskFault } from "#worker/base/disk-fault.ts";

/**
 * Writes small files that are whole in memory. A fast disk is written on this thread, which costs a quarter of handing each
 * call to another. Each file is created anew: what exists in its place, whatever it is, is never written through.
 */
export interface SmallFile {
  place: string;
  bytes: Uint8Array;
  mtimeMs: number;
}

const FLAGS = constants.O_WRONLY | constants.O_CREAT | constants.O_EXCL | constants.O_NOFOLLOW;
const MODE = 0o644;
const pace: DiskPace = { later: 0 };

/** Writes the files; they are not durable yet. Faults: NO_SPACE, WRITE_FAILED. */
export async function writeSmall(files: readonly SmallFile[]): Promise<void> {
  await askDisk(files, { pace, now: writeNow, later: writeLater });
}

const writeFault = (error: unknown, { place }: SmallFile) =>
  diskFault(error, { op: "write", subject: place, otherwise: "WRITE_FAILED" });

function writeNow(file: SmallFile): void {
  const { place, bytes, mtimeMs } = file;
  try {
    const fd = openAnew(place);
    try {
      for (let written = 0; written < bytes.length;) written += writeSync(fd, bytes, written);
      futimesSync(fd, mtimeMs / 1000, mtimeMs / 1000);
    } finally {
      closeSync(fd);
    }
  } catch (error) {
    throw writeFault(error, file);
  }
}

function openAnew(place: string): number {
  try {
    return openSync(place, FLAGS, MODE);
  } catch (error) {
    if (codeOf(error) !== "EEXIST") throw error;
    unlinkOwnedNow("restore-part", place);
    return openSync(place, FLAGS, MODE);
  }
}

async function writeLater(file: SmallFile): Promise<void> {
  const { place, bytes, mtimeMs } = file;
  try {
    const handle = await open(place, FLAGS, MODE).catch(async (error: unknown) => {
      if (codeOf(error) !== "EEXIST") throw error;
      await unlinkOwned("restore-part", place);
      return open(place, FLAGS, MODE);
    });
    try {
      await handle.writeFile(bytes);
      await handle.utimes(mtimeMs / 1000, mtimeMs / 1000);
    } finally {
      await handle.close();
    }
  } catch (error) {
    throw writeFault(error, file);
  }
}
