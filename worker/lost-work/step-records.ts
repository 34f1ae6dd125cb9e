import { closeSync, constants, fchownSync, mkdirSync, openSync, readSync, writeSync } from "node:fs";
import { join } from "node:path";
import type { RunName } from "#protocol/base/names.ts";
import { removeOwnedNow, renameOwnedNow } from "../base/disk/change-disk.ts";
import { diskFault } from "../base/disk-fault.ts";
import { NEW_FILE } from "../host/state-file.ts";
import { newStepRecord, parseStepRecord, readHeader, STEP_RECORD_BYTES, type StepRecord } from "./parse-step-record.ts";

/** Files into which programs write their last step, one per run, in a separate folder. */
export interface StepRecords {
  /**
   * Replaces the file of a run by an empty one and returns its path. A program of an earlier start that still runs keeps
   * writing to the old, now unlinked file. @throws Fault NO_SPACE, WRITE_FAILED
   */
  renew(run: RunName): string;
  /** Returns the existing file, else a new one; for a worker that restarts while its program runs. @throws Faults of `renew` */
  keep(run: RunName): string;
  /** Returns the last valid record of the program; null without one. Never throws. */
  read(run: string): StepRecord | null;
}

/** Opens the folder. `owner`: another user as which the program runs. That user owns the files, and cannot list the folder. */
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

/** Reads one record's length. A planted pipe does not block it, and a planted link is not followed. */
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
