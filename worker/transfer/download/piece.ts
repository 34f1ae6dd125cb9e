/** A range of one object that has a checksum, and its place in the file. */
export interface Piece {
  key: string;
  /** Where the bytes lie in the object. */
  objectOffset: number;
  /** Where they go in the file. */
  fileOffset: number;
  length: number;
  /** Hex; null when nobody knows it (plain objects). */
  crc32: string | null;
  /** Pinned with If-Match, or compared where the store's ETags are not trusted so far; null when nobody knows it. */
  etag: string | null;
  /** Epoch ms by the store's clock, where a HEAD or a listing told it. */
  modifiedAtMs?: number | null;
  /** What lies in the object is encrypted: all other numbers, and `crc32`, are of the file's own bytes. */
  sealed?: SealedPiece;
  /** Of a sealed piece: it is fetched in whole segments. */
  stepBytes?: number;
}

/** The encryption of a piece. */
export interface SealedPiece {
  fileKey: Buffer;
  /** Of the whole file: tells which segment is the last one. */
  plainBytes: number;
}
