import { open, stat } from "node:fs/promises";
import { dirname, join } from "node:path";
import type { ByteSource } from "#storage/inspect/source.ts";
import { codeOf } from "./disk-fault.ts";

/**
 * Returns a file as the readers of formats need it. It is open only during a read, because a checkpoint has more files than a
 * process may have open. Faults of `read`: the system's own errors.
 */
export const sourceOfFile = (path: string, sizeBytes: number): ByteSource => ({
  sizeBytes,
  read: async (offset, length) => {
    const handle = await open(path, "r");
    try {
      const bytes = Buffer.alloc(length);
      const { bytesRead } = await handle.read(bytes, 0, length, offset);
      return bytes.subarray(0, bytesRead);
    } finally {
      await handle.close();
    }
  },
});

/** Opens a file by its path relative to the folder of another one; null when there is none. */
export async function openBeside(path: string, relative: string): Promise<ByteSource | null> {
  const beside = join(dirname(path), relative);
  const stats = await stat(beside).catch((error: unknown) => {
    if (codeOf(error) === "ENOENT" || codeOf(error) === "ENOTDIR") return null;
    throw error;
  });
  return stats?.isFile() === true ? sourceOfFile(beside, stats.size) : null;
}
