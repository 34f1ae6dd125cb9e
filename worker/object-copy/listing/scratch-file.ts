import { randomUUID } from "node:crypto";
import { closeSync, existsSync, ftruncateSync, mkdirSync, openSync, readSync, writeSync } from "node:fs";
import { dirname, join } from "node:path";
import { Fault } from "#protocol/faults/fault.ts";
import { removeOwnedNow, unlinkOwnedNow } from "#worker/base/disk/change-disk.ts";
import { diskFault } from "#worker/base/disk-fault.ts";

/**
 * Temporary storage on disk for as long as a command runs. The file is created at the first write and unlinked at once, so
 * that nothing is left however the command ends.
 */
export interface ScratchFile {
  /** Returns the offset of the bytes; null when they cannot be written, so that the caller has to keep them in memory. */
  write(bytes: Buffer): number | null;
  /** Reads bytes that were written. @throws Fault READ_FAILED */
  read(at: number, length: number): Buffer;
  close(): void;
}

/** Creates a scratch file in the first usable folder. A missing folder is created, and at most the one above it. */
export function createScratchFile(folders: readonly string[]): ScratchFile {
  let fd: number | null = null;
  let used = 0;
  let isRefused = false;
  /** Truncates a failed write: the disk is usually full, and the command itself needs the space. */
  const giveBack = () => {
    try {
      if (fd !== null) ftruncateSync(fd, used);
    } catch {
      // The space is freed when the command ends.
    }
  };
  return {
    write: (bytes) => {
      if (isRefused) return null;
      try {
        fd ??= openNameless(folders);
        for (let done = 0; done < bytes.length;) {
          done += writeSync(fd, bytes, done, bytes.length - done, used + done);
        }
      } catch {
        isRefused = true;
        giveBack();
        return null;
      }
      const at = used;
      used += bytes.length;
      return at;
    },
    read: (at, length) => {
      const bytes = Buffer.allocUnsafe(length);
      const about = { op: "read", subject: folders[0] ?? "", otherwise: "READ_FAILED" } as const;
      if (fd === null) throw new Fault("READ_FAILED", { ...about, detail: "its scratch file is closed" });
      try {
        for (let done = 0; done < length;) {
          const count = readSync(fd, bytes, done, length - done, at + done);
          if (count === 0) throw new Fault("READ_FAILED", { ...about, detail: "its scratch file became shorter" });
          done += count;
        }
      } catch (error) {
        throw diskFault(error, about);
      }
      return bytes;
    },
    close: () => {
      if (fd !== null) closeSync(fd);
      fd = null;
      isRefused = true;
    },
  };
}

/** Opens an unlinked file in the first usable folder. @throws the error of the last folder */
function openNameless(folders: readonly string[]): number {
  let reason: unknown = new Fault("FOLDER_UNWRITABLE", { op: "start" });
  for (const folder of folders) {
    try {
      for (const each of [dirname(folder), folder]) if (!existsSync(each)) mkdirSync(each, { mode: 0o700 });
      return openOne(join(folder, `.list-${randomUUID()}`));
    } catch (error) {
      reason = error;
    }
  }
  throw reason;
}

function openOne(path: string): number {
  const fd = openSync(path, "wx+", 0o600);
  try {
    unlinkOwnedNow("nameless-file", path);
    return fd;
  } catch (error) {
    // This file system cannot unlink an open file, so another folder has to be tried.
    closeSync(fd);
    removeOwnedNow("nameless-file", path);
    throw error;
  }
}
