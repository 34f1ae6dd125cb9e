import type { StoredExtent, StoredFile } from "#protocol/checkpoint/adopted.ts";
import { storedBytes } from "#protocol/checkpoint/packing.ts";
import { FIRST_READ_BYTES, type ByteSource } from "#storage/inspect/source.ts";
import { isSealedFrame, readSealed, unseal } from "#storage/encryption/unseal.ts";
import { unframe } from "#storage/encryption/unframe.ts";
import type { Engine } from "../transfer/engine.ts";
import { receivePieces } from "../transfer/download/receive.ts";
import type { ReceiveJob } from "../transfer/download/receive-job.ts";
import type { Piece } from "../transfer/download/piece.ts";

/** Reads bytes of a stored file into memory, before anything is written. */

export type ReadWatch = Pick<ReceiveJob, "signal" | "patience" | "onRetry">;

export interface KeyedFile {
  file: StoredFile;
  /** Key of an encrypted file. */
  fileKey?: Buffer;
}

/**
 * Returns a file as a source of ranges. Plain ranges are checked by the ETag only, encrypted ones by the tags of their
 * segments. Keeps no bytes. Faults of `read`: as `receivePieces`, SEAL_BROKEN.
 */
export const sourceOfFile = (engine: Engine, { file, fileKey }: KeyedFile, watch: ReadWatch): ByteSource => ({
  sizeBytes: file.sizeBytes,
  read: async (offset, length) => {
    const bytes = Buffer.alloc(length);
    const pieces: Piece[] = [];
    let at = 0;
    for (const extent of file.extents) {
      const [first, last] = [Math.max(offset, at), Math.min(offset + length, at + extent.length)];
      const range = { from: first - at, length: last - first };
      if (first < last && fileKey !== undefined) {
        const read = readSealed({ file, extent, fileKey }, range, (stored) =>
          fetchRange(engine, extent, { file, stored, watch }),
        );
        bytes.set(await read, first - offset);
      } else if (first < last) {
        const objectOffset = extent.offset + range.from;
        pieces.push({ ...named(extent), objectOffset, fileOffset: first - offset, length: range.length, crc32: null });
      }
      at += extent.length;
    }
    await fetchInto(engine, bytes, { file, pieces, watch });
    return bytes;
  },
});

/**
 * Returns all bytes of a file, each piece checked by its checksum where it has one. Faults: as `receivePieces`, SEAL_BROKEN.
 */
export async function readWhole(engine: Engine, keyed: KeyedFile, watch: ReadWatch): Promise<Buffer> {
  const parts: Uint8Array[] = [];
  for (const extent of keyed.file.extents) {
    const { offset, length, crc32 } = storedBytes(extent);
    const bytes = Buffer.alloc(length);
    const pieces: Piece[] = [{ ...named(extent), objectOffset: offset, fileOffset: 0, length, crc32 }];
    await fetchInto(engine, bytes, { file: keyed.file, pieces, watch });
    parts.push(await opened(bytes, extent, keyed));
  }
  return Buffer.concat(parts);
}

/** Decodes a piece of a file from its stored bytes. Faults: CHECKSUM_MISMATCH, SEAL_BROKEN. */
async function opened(stored: Buffer, extent: StoredExtent, { file, fileKey }: KeyedFile): Promise<Uint8Array> {
  if (fileKey === undefined) return unframe(stored, extent);
  // A compressed piece holds the whole file.
  if (isSealedFrame(extent)) return unseal(stored, extent, fileKey);
  const plain = await readSealed({ file, extent, fileKey }, { from: 0, length: extent.length }, async () => stored);
  const { stored: _, ...own } = extent;
  return unframe(plain, own);
}

/** Verifies the checksums of the pieces at the beginning of a file, and keeps nothing. Faults: as `receivePieces`. */
export async function sumStart(engine: Engine, file: StoredFile, watch: ReadWatch): Promise<void> {
  const pieces: Piece[] = [];
  let at = 0;
  for (const extent of file.extents) {
    if (at >= FIRST_READ_BYTES) break;
    const { offset, length, crc32 } = storedBytes(extent);
    if (crc32 !== null) pieces.push({ ...named(extent), objectOffset: offset, fileOffset: at, length, crc32 });
    at += extent.length;
  }
  await fetchInto(engine, null, { file, pieces, watch });
}

const named = ({ key, etag }: StoredExtent) => ({ key, etag });

interface StoredRange {
  file: StoredFile;
  stored: { offset: number; length: number };
  watch: ReadWatch;
}

async function fetchRange(engine: Engine, extent: StoredExtent, { file, stored, watch }: StoredRange): Promise<Buffer> {
  const bytes = Buffer.alloc(stored.length);
  const piece = { ...named(extent), objectOffset: stored.offset, fileOffset: 0, length: stored.length, crc32: null };
  await fetchInto(engine, bytes, { file, pieces: [piece], watch });
  return bytes;
}

const fetchInto = (
  engine: Engine,
  fd: Buffer | null,
  { file, pieces, watch }: { file: StoredFile; pieces: readonly Piece[]; watch: ReadWatch },
): Promise<void> =>
  receivePieces(engine, {
    ...watch,
    fd,
    path: file.path,
    pieces,
    onMoved: () => undefined,
    onPiece: () => undefined,
    onDone: () => Promise.resolve(),
    onPartly: () => Promise.resolve(),
    onWrong: () => Promise.resolve(),
  });
