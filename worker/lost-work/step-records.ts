import { closeSync, constants, fchownSync, mkdirSync, openSync, readSync, writeSync } from "node:fs";
import { join } from "node:path";
import type { RunName } from "#protocol/base/names.ts";
import { removeOwnedNow, renameOwnedNow } from "../base/disk/change-disk.ts";
import { diskFault } from "../base/disk-fault.ts";
import { NEW_FILE } from "../host/state-file.ts";
import { newStepRecord, parseStepRecord, readHeader, STEP_RECORD_BYTES, type StepRecord } from "./parse-step-record.ts";

/** The files in which programs write their last step, one per run, in a folder of their own. */
export interface StepRecords {
  /**
   * Makes a file in which nothing is written yet, in the place of an older one: a program of an earlier start that still
   * writes does so where nobody reads. Returns its path. Faults: NO_SPACE, WRITE_FAILED.
   */
  renew(run: RunName): string;
  /** The file that is there, else a new one: a worker that is started again beside its program. Faults: as `renew`. */
  keep(run: RunName): string;
  /** What the program wrote last; null when there is nothing that can be believed. No faults. */
  read(run: string): StepRecord | null;
}

/** `owner`: of the files, where the program runs as another user than the worker; it enters the folder and does not list it. */
export function openStepRecords(folder: string, owner: { uid: number; gid: number } | null = null): StepRecords {
  const pathOf = (run: string) => join(folder, `${run}.step`);
  const renew = (run: RunName): string => {
    const path = pathOf(run);
    try {
      mkdirSync(folder, { recursive: true, mode: owner === null ? 0o700 : 0o711 });
      const fresh = `${path}.new`;
      removeOwnedNow("state-file", fresh);
      const fd = openSync(fresh, NEW_FILE, 0o600);
      try {
        writeSync(fd, newStepRecord(run));
        if (owner !== null) fchownSync(fd, owner.uid, owner.gid);
      } finally {
        closeSync(fd);
      }
      renameOwnedNow("state-file", fresh, path);
      return path;
    } catch (error) {
      throw diskFault(error, { op: "step", subject: path, otherwise: "WRITE_FAILED" });
    }
  };
  return {
    renew,
    keep: (run) => {
      const path = pathOf(run);
      return readHeader(readBytes(path), run) === null ? renew(run) : path;
    },
    read: (run) => parseStepRecord(readBytes(pathOf(run)), run),
  };
}

const NOTHING = Buffer.alloc(0);

/** Neither waits for a pipe nor follows a link that somebody put there, nor reads more than a record has. */
function readBytes(path: string): Buffer {
  let fd: number | null = null;
  try {
    fd = openSync(path, constants.O_RDONLY | constants.O_NOFOLLOW | constants.O_NONBLOCK);
    const bytes = Buffer.alloc(STEP_RECORD_BYTES);
    return readSync(fd, bytes, 0, STEP_RECORD_BYTES, 0) === STEP_RECORD_BYTES ? bytes : NOTHING;
  } catch {
    return NOTHING;
  } finally {
    if (fd !== null) closeSync(fd);
  }
}
