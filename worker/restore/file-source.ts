import type { StoredExtent, StoredFile } from "#protocol/adopted.ts";
import { storedBytes } from "#protocol/packing.ts";
import { FIRST_READ_BYTES, type ByteSource } from "#storage/inspect/source.ts";
import { unframe } from "#storage/unframe.ts";
import type { Engine } from "../engine/engine.ts";
import { receivePieces, type Piece, type ReceiveJob } from "../engine/receive.ts";

/** Bytes of a stored file in memory: for what is read of it before anything is written. */

export type ReadWatch = Pick<ReceiveJob, "signal" | "patience" | "onRetry">;

/** Ranges as they come: held to the ETag and to no checksum, so nothing of it is kept. Faults of `read`: as `receivePieces`. */
export const sourceOfFile = (engine: Engine, file: StoredFile, watch: ReadWatch): ByteSource => ({
  sizeBytes: file.sizeBytes,
  read: async (offset, length) => {
    const bytes = Buffer.alloc(length);
    const pieces: Piece[] = [];
    let at = 0;
    for (const extent of file.extents) {
      const [first, last] = [Math.max(offset, at), Math.min(offset + length, at + extent.length)];
      if (first < last) {
        const objectOffset = extent.offset + first - at;
        pieces.push({ ...named(extent), objectOffset, fileOffset: first - offset, length: last - first, crc32: null });
      }
      at += extent.length;
    }
    await fetchInto(engine, bytes, { file, pieces, watch });
    return bytes;
  },
});

/** All of a file, each piece held to its checksum where there is one. Faults: as `receivePieces`. */
export async function readWhole(engine: Engine, file: StoredFile, watch: ReadWatch): Promise<Buffer> {
  const parts: Uint8Array[] = [];
  for (const extent of file.extents) {
    const { offset, length, crc32 } = storedBytes(extent);
    const bytes = Buffer.alloc(length);
    const pieces: Piece[] = [{ ...named(extent), objectOffset: offset, fileOffset: 0, length, crc32 }];
    await fetchInto(engine, bytes, { file, pieces, watch });
    parts.push(await unframe(bytes, extent));
  }
  return Buffer.concat(parts);
}

/** Holds the pieces that the first bytes of a file lie in to their checksums; keeps nothing. Faults: as `receivePieces`. */
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
