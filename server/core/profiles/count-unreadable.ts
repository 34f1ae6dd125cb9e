import { WALK_LIMITS } from "#protocol/buckets/bucket.ts";

/** Names that are not valid UTF-8: how many there are, and the first of them. A bucket may have a million. */
export interface Unreadable {
  count: number;
  first: string[];
}

/** One call looks through so many for names that can be read: no listing can be begun at one of them. */
export const MOST_UNREADABLE = 50_000;

export const noUnreadable = (): Unreadable => ({ count: 0, first: [] });

/** Adds the names of a page. */
export function countUnreadable(to: Unreadable, names: readonly string[]): void {
  to.count += names.length;
  to.first.push(...names.slice(0, WALK_LIMITS.unreadable - to.first.length));
}
