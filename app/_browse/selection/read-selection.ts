import type { Wanted } from "../../_browser-transfers/downloads/list-wanted.ts";
import { folderAbove, type Place } from "../use-place.ts";
import type { Selection } from "./selection.ts";

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

/** Most links created at once, because somebody has to pass each of them on. */
export const MOST_SHARED = 20;

export function chosenKeys({ chosen }: Selection): { keys: string[]; prefixes: string[] } {
  const [keys, prefixes]: [string[], string[]] = [[], []];
  for (const [key, sizeBytes] of chosen) (sizeBytes === null ? prefixes : keys).push(key);
  return { keys, prefixes };
}

/** Returns the download of a selection: a single object as it is, everything else as one archive. */
export function wantedOf(selection: Selection, at: { profileId: string; from: string }): Wanted {
  const { keys, prefixes } = chosenKeys(selection);
  const [only] = keys;
  if (only !== undefined && keys.length === 1 && prefixes.length === 0)
    return { kind: "object", profileId: at.profileId, key: only };
  return { kind: "chosen", ...at, keys, prefixes };
}

/** Returns why no links can be created for a selection; null when they can. */
export function whyNotShare(selection: Selection): string | null {
  const { keys, prefixes } = chosenKeys(selection);
  if (prefixes.length > 0) return "A link is for one object: leave the folders out";
  return keys.length > MOST_SHARED ? `At most ${MOST_SHARED} objects get links at once` : null;
}

/** Returns where the versions of the selection are listed; null unless exactly one row is selected. */
export function versionsPlace({ chosen }: Selection): Partial<Place> | null {
  const [only, ...others] = chosen;
  if (only === undefined || others.length > 0) return null;
  const [key, sizeBytes] = only;
  const home = { words: "", key: "", show: "versions" } as const;
  if (sizeBytes === null && key.endsWith("/")) return { ...home, folder: key, filter: "" };
  const folder = folderAbove(key) ?? "";
  return { ...home, folder, filter: key.slice(folder.length) };
}
