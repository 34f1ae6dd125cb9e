import type { FileInspection } from "#protocol/checkpoint/inspect.ts";

/**
 * What was found inside files, by the version of the object: an ETag never gets other bytes, so nothing here goes stale.
 * Bounded by an estimate of its size; what was not asked for the longest goes first. Looking inside takes memory of its
 * own, so only so many files are looked at together.
 */
export interface Inspections {
  /** `look` runs only when `version` is not known. Null: the version cannot be told, so nothing is kept. */
  of(version: string | null, look: () => Promise<FileInspection>): Promise<FileInspection>;
}
