import { open, stat, type FileHandle } from "node:fs/promises";
import { readPickle } from "#storage/inspect/pickle/read-pickle.ts";
import { findDataPickle } from "#storage/inspect/read-torch.ts";
import { readEntryStart, readZipDirectory } from "#storage/inspect/read-zip.ts";
import { boundSource, type BoundedSource } from "#storage/inspect/source.ts";
import type { PickleValue } from "#storage/inspect/pickle/pickle-value.ts";

/** A larger description of tensors is not read, because it would block the worker's thread. */
const MOST_PICKLE_BYTES = 2 * 1024 * 1024;

/**
 * Returns the values that a file of `torch.save` holds beside its tensors; null when it is torn, of another format, or too
 * large inside. Nothing in the file is executed. No faults.
 */
export const readPickleOf = (path: string, sizeBytes: number): Promise<PickleValue | null> =>
  withFileSource(
    path,
    async (source) => {
      const pickle = findDataPickle(await readZipDirectory(source));
      if (pickle === undefined || pickle.packedBytes > MOST_PICKLE_BYTES) return null;
      return readPickle(await readEntryStart(source, pickle, pickle.packedBytes))?.value ?? null;
    },
    sizeBytes,
  );

/** Returns what `read` finds in a file, within the limits for reading inside files; null when it cannot be read. No faults. */
export async function withFileSource<T>(
  path: string,
  read: (source: BoundedSource) => Promise<T | null>,
  knownBytes?: number,
): Promise<T | null> {
  let handle: FileHandle | null = null;
  try {
    const sizeBytes = knownBytes ?? (await stat(path)).size;
    handle = await open(path, "r");
    const file = handle;
    const source = boundSource({
      sizeBytes,
      read: async (offset, length) => {
        const { buffer, bytesRead } = await file.read(Buffer.alloc(length), 0, length, offset);
        return buffer.subarray(0, bytesRead);
      },
    });
    return await read(source);
  } catch {
    return null;
  } finally {
    await handle?.close();
  }
}
