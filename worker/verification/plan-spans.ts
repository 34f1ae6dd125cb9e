import type { StoredFile, StoredManifest } from "#protocol/checkpoint/adopted.ts";
import { storedBytes } from "#protocol/checkpoint/packing.ts";
import type { Piece } from "../transfer/download/piece.ts";
import { planBatches } from "../restore/plan-batches.ts";
import { pieceOf } from "../restore/receive-batch.ts";

/** An extent of a file, with its position. */
export interface Item {
  file: StoredFile;
  fileIndex: number;
  partIndex: number;
  /** Its bytes in the object. */
  piece: Piece;
  /** Length in the file. */
  bytes: number;
}

/** Result of one request: an extent, or small files that lie together. */
export interface Span {
  piece: Piece;
  items: readonly Item[];
}

/** Returns every extent, in the order of the manifest. */
export function itemsOf(manifest: StoredManifest): Item[] {
  return manifest.files.flatMap((file, fileIndex) => {
    let fileOffset = 0;
    return file.extents.map((extent, partIndex) => {
      const { key, length: bytes, etag } = extent;
      // Compressed bytes are compared as stored: their own checksum proves as much as that of the decompressed bytes.
      const { offset, length, crc32 } = storedBytes(extent);
      const piece: Piece = { key, objectOffset: offset, fileOffset, length, crc32, etag };
      fileOffset += bytes;
      return { file, fileIndex, partIndex, piece, bytes };
    });
  });
}

/**
 * Returns the requests for these extents, in the order of the manifest. Small files that lie together are read together, as in
 * a restore.
 */
export function planSpans(manifest: StoredManifest, items: readonly Item[]): Span[] {
  const byFile = Map.groupBy(items, ({ fileIndex }) => fileIndex);
  const has = new Set(manifest.files.keys().filter((index) => !byFile.has(index)));
  const { batches, alone } = planBatches(manifest.files, has);
  const itemsAt = (index: number): readonly Item[] => byFile.get(index) ?? [];
  const spanOf = (found: readonly Item[], piece: Piece): Span => {
    const [only, ...others] = found;
    // A single file is verified by its own checksum while it arrives.
    return { piece: only !== undefined && others.length === 0 ? only.piece : piece, items: found };
  };
  const together = batches.map((batch) =>
    spanOf(
      batch.members.flatMap(({ index }) => itemsAt(index)),
      pieceOf(batch),
    ),
  );
  const apart = alone.flatMap(itemsAt).map((item) => spanOf([item], item.piece));
  return [...together, ...apart].toSorted((a, b) => (a.items[0]?.fileIndex ?? 0) - (b.items[0]?.fileIndex ?? 0));
}
