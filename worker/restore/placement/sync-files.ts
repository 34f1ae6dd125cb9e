import { execFile } from "node:child_process";
import { open } from "node:fs/promises";
import { promisify } from "node:util";
import { forEachOf } from "#protocol/base/for-each-of.ts";
import { diskFault } from "#worker/base/disk-fault.ts";

/**
 * Makes files durable that were written and closed. Their folder gets its final name only afterwards, so the order does not
 * matter. A single request flushes the whole disk, where flushes of 50,000 single files take minutes on a slow disk. Linux
 * offers that request (syncfs) by the program `sync -f`. If the program is missing, or fails, the files are flushed one by one.
 */
const FEW = 128;
const FLUSHED_AT_A_TIME = 16;
const LONGEST_MS = 10 * 60_000;
const run = promisify(execFile);

/** Makes the files durable. `folder` is on the same disk. Faults: WRITE_FAILED, NO_SPACE. */
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

/** Returns whether the disk was flushed. On other systems `sync` may return before anything was written. */
async function syncDisk(folder: string): Promise<boolean> {
  if (process.platform !== "linux") return false;
  return run("sync", ["-f", folder], { timeout: LONGEST_MS }).then(
    () => true,
    () => false,
  );
}
