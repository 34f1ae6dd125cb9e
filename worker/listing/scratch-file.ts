import { randomUUID } from "node:crypto";
import { closeSync, existsSync, ftruncateSync, mkdirSync, openSync, readSync, rmSync, writeSync } from "node:fs";
import { join } from "node:path";
import { Fault } from "#protocol/fault.ts";
import { diskFault } from "../engine/disk-fault.ts";

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

/** `folder` is made where only that is missing. */
export function createScratchFile(folder: string): ScratchFile {
  let fd: number | null = null;
  let used = 0;
  let isRefused = false;
  return {
    write: (bytes) => {
      if (isRefused) return null;
      try {
        fd ??= openNameless(folder);
        for (let done = 0; done < bytes.length;) {
          done += writeSync(fd, bytes, done, bytes.length - done, used + done);
        }
      } catch {
        // A full disk, mostly: what the command is about needs what is left of it more.
        isRefused = true;
        if (fd !== null) ftruncateSync(fd, used);
        return null;
      }
      const at = used;
      used += bytes.length;
      return at;
    },
    read: (at, length) => {
      const bytes = Buffer.allocUnsafe(length);
      const about = { op: "read", subject: folder, otherwise: "READ_FAILED" } as const;
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

function openNameless(folder: string): number {
  if (!existsSync(folder)) mkdirSync(folder, { mode: 0o700 });
  const path = join(folder, `.list-${randomUUID()}`);
  const fd = openSync(path, "wx+", 0o600);
  rmSync(path);
  return fd;
}
