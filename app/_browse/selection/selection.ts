import type { Wanted } from "../../_browser-transfers/downloads/list-wanted.ts";
import type { BucketRow } from "../folder/folder-pages.ts";
import { folderAbove, type Place } from "../use-place.ts";

/** What is chosen in a list: by key, so that it stays while rows come and go. A folder stands for all that is below it. */

export interface Selection {
  /** Size of each object; null for a folder, whose size nobody knows yet. */
  chosen: ReadonlyMap<string, number | null>;
  /** Where a range begins. */
  anchor: number;
}

/** One plan takes no more single things; whoever wants more chooses their folder. */
export const MOST_CHOSEN = 5000;

export const NOTHING_CHOSEN: Selection = { chosen: new Map(), anchor: 0 };

const sizeOf = (row: BucketRow): number | null => (row.kind === "folder" ? null : row.sizeBytes);

/** One row more, or one less. */
export function toggle(selection: Selection, row: BucketRow, index: number): Selection {
  const chosen = new Map(selection.chosen);
  if (!chosen.delete(row.key) && chosen.size < MOST_CHOSEN) chosen.set(row.key, sizeOf(row));
  return { chosen, anchor: index };
}

/** Everything from the anchor to `index`, added to what is chosen. Rows that are not here are left out. */
export function extend(selection: Selection, index: number, rowAt: (index: number) => BucketRow | null): Selection {
  const chosen = new Map(selection.chosen);
  const [from, to] = [Math.min(selection.anchor, index), Math.max(selection.anchor, index)];
  for (let at = from; at <= to && chosen.size < MOST_CHOSEN; at++) {
    const row = rowAt(at);
    if (row !== null) chosen.set(row.key, sizeOf(row));
  }
  return { chosen, anchor: selection.anchor };
}

export interface Chosen {
  objects: number;
  bytes: number;
  folders: number;
}

export function countChosen({ chosen }: Selection): Chosen {
  const sum: Chosen = { objects: 0, bytes: 0, folders: 0 };
  for (const sizeBytes of chosen.values()) {
    if (sizeBytes === null) sum.folders++;
    else {
      sum.objects++;
      sum.bytes += sizeBytes;
    }
  }
  return sum;
}

/** Links are made one by one, and somebody has to hand each of them on. */
export const MOST_SHARED = 20;

export function chosenKeys({ chosen }: Selection): { keys: string[]; prefixes: string[] } {
  const [keys, prefixes]: [string[], string[]] = [[], []];
  for (const [key, sizeBytes] of chosen) (sizeBytes === null ? prefixes : keys).push(key);
  return { keys, prefixes };
}

/** A download of exactly what is chosen: one object as it is, everything else as one archive. */
export function wantedOf(selection: Selection, at: { profileId: string; from: string }): Wanted {
  const { keys, prefixes } = chosenKeys(selection);
  const [only] = keys;
  if (only !== undefined && keys.length === 1 && prefixes.length === 0)
    return { kind: "object", profileId: at.profileId, key: only };
  return { kind: "chosen", ...at, keys, prefixes };
}

/** Why no links can be made for what is chosen; null when they can. */
export function whyNotShare(selection: Selection): string | null {
  const { keys, prefixes } = chosenKeys(selection);
  if (prefixes.length > 0) return "A link is for one object: leave the folders out";
  return keys.length > MOST_SHARED ? `At most ${MOST_SHARED} objects get links at once` : null;
}

/** Where the versions of what is chosen are listed; null unless it is one thing. */
export function versionsPlace({ chosen }: Selection): Partial<Place> | null {
  const [only, ...others] = chosen;
  if (only === undefined || others.length > 0) return null;
  const [key, sizeBytes] = only;
  const home = { words: "", key: "", show: "versions" } as const;
  if (sizeBytes === null && key.endsWith("/")) return { ...home, folder: key, filter: "" };
  const folder = folderAbove(key) ?? "";
  return { ...home, folder, filter: key.slice(folder.length) };
}
