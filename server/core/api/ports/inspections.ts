import type { FileInspection } from "#protocol/checkpoint/inspect.ts";

/**
 * A cache of file inspections by object version. An ETag never gets other bytes, so entries do not go stale. The cache is
 * bounded by an estimate of its size and evicts the least recently used entry. An inspection takes memory of its own, so few
 * run at once.
 */
export interface Inspections {
  /** Returns the cached inspection, or runs `look`. `version` null: the version is unknown, so nothing is cached. */
  of(version: string | null, look: () => Promise<FileInspection>): Promise<FileInspection>;
}
