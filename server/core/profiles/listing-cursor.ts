import { createRepeatFinder, type Fingerprint, type RepeatFinder } from "#storage/answers/repeated-names.ts";
import { openCursor, sealCursor, type CursorOf } from "./seal-cursor.ts";

/** A listing that a browser continues call by call. */
export interface OpenListing {
  /** Continuation token of the store; null at the first page. */
  from: string | null;
  /** Finds names that this call, or the end of the call before it, has already. */
  repeats: RepeatFinder;
}

/** Opens a listing at its beginning or at a cursor. @throws Fault LISTING_OVER when the cursor is not of this listing */
export function openListing(of: CursorOf, cursor: string | null): OpenListing {
  if (cursor === null) return { from: null, repeats: createRepeatFinder() };
  const [from, before] = JSON.parse(openCursor(of, cursor)) as [string, Fingerprint[]];
  return { from, repeats: createRepeatFinder({ before }) };
}

/** Returns the cursor of the next page, which knows the newest names; null where the listing is complete. */
export const sealListing = (of: CursorOf, next: string | null, { repeats }: OpenListing): string | null =>
  next === null ? null : sealCursor(of, JSON.stringify([next, repeats.newest()]));
