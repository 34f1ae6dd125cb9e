/** What is read of one object at most, in bytes and in requests, and how much of it is kept. */
export const INSPECT_LIMITS = {
  readBytes: 16 * 1024 * 1024,
  reads: 512,
  /** What is unpacked, and what names amount to that are told by their difference to the one before. */
  expandedBytes: 64 * 1024 * 1024,
  tensors: 100_000,
  dimensions: 64,
  metadata: 512,
  points: 2_000,
  previewBytes: 4_096,
} as const;
