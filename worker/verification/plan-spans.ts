import type { StoredFile, StoredManifest } from "#protocol/checkpoint/adopted.ts";
import { storedBytes } from "#protocol/checkpoint/packing.ts";
import type { Piece } from "../transfer/download/piece.ts";
import { planBatches } from "../restore/plan-batches.ts";
import { pieceOf } from "../restore/receive-batch.ts";

/** An extent of a file, and where it lies. */
export interface Item {
  file: StoredFile;
  fileIndex: number;
  partIndex: number;
  /** As it lies in the object. */
  piece: Piece;
  /** Of the file. */
  bytes: number;
}

/** What one request brings: an extent, or small files that lie together. */
export interface Span {
  piece: Piece;
  items: readonly Item[];
}

/** Every extent, in the order of the manifest. */
export function itemsOf(manifest: StoredManifest): Item[] {
  return manifest.files.flatMap((file, fileIndex) => {
    let fileOffset = 0;
    return file.extents.map((extent, partIndex) => {
      const { key, length: bytes, etag } = extent;
      // What is compressed is compared as it lies there: its own sum says as much as that of what it unpacks to.
      const { offset, length, crc32 } = storedBytes(extent);
      const piece: Piece = { key, objectOffset: offset, fileOffset, length, crc32, etag };
      fileOffset += bytes;
      return { file, fileIndex, partIndex, piece, bytes };
    });
  });
}

/** What is to be read of these, in the order of the manifest: small files that lie together as a restore fetches them. */
export function planSpans(manifest: StoredManifest, items: readonly Item[]): Span[] {
  const byFile = Map.groupBy(items, ({ fileIndex }) => fileIndex);
  const has = new Set(manifest.files.keys().filter((index) => !byFile.has(index)));
  const { batches, alone } = planBatches(manifest.files, has);
  const itemsAt = (index: number): readonly Item[] => byFile.get(index) ?? [];
  const spanOf = (found: readonly Item[], piece: Piece): Span => {
    const [only, ...others] = found;
    // By itself it is held to its own sum while it comes.
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
