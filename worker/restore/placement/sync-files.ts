import { execFile } from "node:child_process";
import { open } from "node:fs/promises";
import { promisify } from "node:util";
import { forEachOf } from "#protocol/base/for-each-of.ts";
import { diskFault } from "#worker/base/disk-fault.ts";

/**
 * Makes files durable that were written and closed. The folder that they are in gets its final name only afterwards, so
 * nobody cares which of them is durable first: many are flushed by one request to their disk, where each by itself would be
 * a flush of its own (50,000 of them: minutes on a disk that takes its time). Linux has that request (syncfs) as the
 * program `sync -f`; where that is missing, or fails, they are flushed one by one.
 */
const FEW = 128;
const FLUSHED_AT_A_TIME = 16;
const LONGEST_MS = 10 * 60_000;
const run = promisify(execFile);

/** `folder` is on the same disk. Faults: WRITE_FAILED, NO_SPACE. */
export async function syncFiles(folder: string, paths: readonly string[]): Promise<void> {
  if (paths.length > FEW && (await syncDisk(folder))) return;
  await forEachOf(paths, FLUSHED_AT_A_TIME, async (path) => {
    try {
      const handle = await open(path, "r");
      try {
        await handle.datasync();
      } finally {
        await handle.close();
      }
    } catch (error) {
      throw diskFault(error, { op: "write", subject: path, otherwise: "WRITE_FAILED" });
    }
  });
}

/** Elsewhere `sync` may return before anything was written. */
async function syncDisk(folder: string): Promise<boolean> {
  if (process.platform !== "linux") return false;
  return run("sync", ["-f", folder], { timeout: LONGEST_MS }).then(
    () => true,
    () => false,
  );
}
