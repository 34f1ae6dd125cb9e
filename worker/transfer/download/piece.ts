/** A byte range of an object, usually with a checksum, and its place in the file. */
export interface Piece {
  key: string;
  /** Offset in the object. */
  objectOffset: number;
  /** Offset in the file. */
  fileOffset: number;
  length: number;
  /** Hex; null when unknown (plain objects). */
  crc32: string | null;
  /** Sent as If-Match, or compared where the store's ETags are not trusted; null when unknown. */
  etag: string | null;
  /** Epoch ms by the store's clock, from a HEAD or a listing. */
  modifiedAtMs?: number | null;
  /** Set when the object is encrypted. All other numbers, and `crc32`, describe the plaintext. */
  sealed?: SealedPiece;
  /** Plaintext bytes of one segment: a sealed piece is fetched in whole segments. */
  stepBytes?: number;
}

/** The encryption of a piece. */
export interface SealedPiece {
  fileKey: Buffer;
  /** Length of the whole file; tells which segment is the last one. */
  plainBytes: number;
}
