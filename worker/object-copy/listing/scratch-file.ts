import { randomUUID } from "node:crypto";
import { closeSync, existsSync, ftruncateSync, mkdirSync, openSync, readSync, writeSync } from "node:fs";
import { dirname, join } from "node:path";
import { Fault } from "#protocol/faults/fault.ts";
import { removeOwnedNow, unlinkOwnedNow } from "#worker/base/disk/change-disk.ts";
import { diskFault } from "#worker/base/disk-fault.ts";

/**
 * Memory on the disk for as long as a command runs. The file is made when there is something to put into it and has no name
 * from then on, so that nothing of it is left however the command ends.
 */
export interface ScratchFile {
  /** Returns where it lies; null when it cannot be written, which costs nothing but the room in memory that it would have spared. */
  write(bytes: Buffer): number | null;
  /** Faults: READ_FAILED. */
  read(at: number, length: number): Buffer;
  close(): void;
}

/** In the first of these folders that takes it; each is made where only it and the one above it are missing. */
export function createScratchFile(folders: readonly string[]): ScratchFile {
  let fd: number | null = null;
  let used = 0;
  let isRefused = false;
  /** A full disk, mostly: what the command is about needs what is left of it more. */
  const giveBack = () => {
    try {
      if (fd !== null) ftruncateSync(fd, used);
    } catch {
      // Then it is given back when the command ends.
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

/** @throws what the last of the folders had against it */
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
    // Where an open file cannot lose its name it is no place for this.
    closeSync(fd);
    removeOwnedNow("nameless-file", path);
    throw error;
  }
}
