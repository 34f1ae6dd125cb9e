import { chmod, lstat, open, type FileHandle } from "node:fs/promises";
import { codeOf } from "../disk-fault.ts";

/** Mode of a file while its bytes are written. */
const WRITTEN_MODE = 0o644;

/**
 * Opens a file that this process or an earlier one has begun to write. One that got its final mode already, without the right
 * to write, gets that right back: a restore that was killed at its end is continued. Rejects with the system's error.
 */
export async function openOwn(path: string, flags: number): Promise<FileHandle> {
  try {
    return await open(path, flags, WRITTEN_MODE);
  } catch (error) {
    if (codeOf(error) !== "EACCES" || !(await lstat(path)).isFile()) throw error;
    await chmod(path, WRITTEN_MODE);
    return open(path, flags, WRITTEN_MODE);
  }
}
