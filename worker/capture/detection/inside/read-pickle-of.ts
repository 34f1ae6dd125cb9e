import { open, stat, type FileHandle } from "node:fs/promises";
import { readPickle } from "#storage/inspect/pickle/read-pickle.ts";
import { findDataPickle, LEGACY_MAGIC } from "#storage/inspect/read-torch.ts";
import { readEntryStart, readZipDirectory } from "#storage/inspect/read-zip.ts";
import { boundSource, type BoundedSource } from "#storage/inspect/source.ts";
import { unpacked } from "./unpacked.ts";
import type { PickleValue } from "#storage/inspect/pickle/pickle-value.ts";

/** A larger description of tensors is not read, because it would block the worker's thread. */
const MOST_PICKLE_BYTES = 2 * 1024 * 1024;

/** Longest start of a file without a directory that is read to find the end of its first pickle. */
const READ_STEPS = [64 * 1024, MOST_PICKLE_BYTES] as const;
const ZIP_MAGIC = "PK";
/** Pickles before the saved value in the form that `torch.save` wrote before version 1.6: magic number, protocol, machine. */
const BEFORE_LEGACY_VALUE = 3;

/**
 * Returns the values that a file of `torch.save`, `pickle` or joblib holds beside its tensors; null when it is torn, of another
 * format, or too large inside. Nothing in the file is executed. No faults.
 */
export const readPickleOf = (path: string, sizeBytes: number): Promise<PickleValue | null> =>
  withFileSource(
    path,
    async (source) => {
      const magic = Buffer.from(await source.read(0, Math.min(ZIP_MAGIC.length, source.sizeBytes))).toString("latin1");
      if (magic !== ZIP_MAGIC) return readPlain(source);
      const pickle = findDataPickle(await readZipDirectory(source));
      if (pickle === undefined || pickle.packedBytes > MOST_PICKLE_BYTES) return null;
      return readPickle(await readEntryStart(source, pickle, pickle.packedBytes))?.value ?? null;
    },
    sizeBytes,
  );

/** Reads a bare pickle, or the older form of `torch.save`; one that was packed by zlib or gzip is unpacked up to a bound. */
async function readPlain(source: BoundedSource): Promise<PickleValue | null> {
  for (const most of READ_STEPS) {
    const start = Buffer.from(await source.read(0, Math.min(most, source.sizeBytes)));
    const bytes = await unpacked(start);
    const value = valueIn(bytes);
    if (value !== null || bytes !== start || start.length === source.sizeBytes) return value;
  }
  return null;
}

/** First byte of a pickle of protocol 2 and later. */
const PROTOCOL = 0x80;

function valueIn(bytes: Buffer): PickleValue | null {
  if (bytes[0] !== PROTOCOL) return null;
  let at = 0;
  const skipped = bytes.subarray(0, LEGACY_MAGIC.length).equals(LEGACY_MAGIC) ? BEFORE_LEGACY_VALUE : 0;
  for (let index = 0; ; index++) {
    const read = readPickle(bytes, at);
    if (read === null || index === skipped) return read?.value ?? null;
    at = read.end;
  }
}

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
