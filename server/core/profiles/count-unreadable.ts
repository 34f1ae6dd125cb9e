import { WALK_LIMITS } from "#protocol/buckets/bucket.ts";

/** Counts names that are not valid UTF-8 and keeps the first of them only: a bucket may have a million. */
export interface Unreadable {
  count: number;
  first: string[];
}

/**
 * The unreadable names that one call skips at most. No listing can start at such a name, so the next call could not go on
 * there.
 */
export const MOST_UNREADABLE = 50_000;

export const noUnreadable = (): Unreadable => ({ count: 0, first: [] });

/** Adds the names of one page of a listing. */
export function countUnreadable(to: Unreadable, names: readonly string[]): void {
  to.count += names.length;
  to.first.push(...names.slice(0, WALK_LIMITS.unreadable - to.first.length));
}
