/** Limits on inspecting one object: bytes and requests that are read, and how much of the result is kept. */
export const INSPECT_LIMITS = {
  readBytes: 16 * 1024 * 1024,
  reads: 512,
  /** Decompressed bytes, and the total length of names that are stored as differences to the previous name. */
  expandedBytes: 64 * 1024 * 1024,
  tensors: 100_000,
  dimensions: 64,
  metadata: 512,
  points: 2_000,
  previewBytes: 4_096,
} as const;
