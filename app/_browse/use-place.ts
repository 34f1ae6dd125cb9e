"use client";
import type { ChangeAs } from "../_hub/address/address-changes.ts";
import { useAddress } from "../_hub/address/address.ts";

/** Keeps the position in a bucket in the address, so that it can be shared and Back works. */

export const SORTS = ["name", "size", "date"] as const;
export type Sort = (typeof SORTS)[number];

export interface Place {
  /** The folder: empty or ending with `/`. */
  folder: string;
  /** Prefix filter on the names in the folder. */
  filter: string;
  /** Search words for names below the folder; empty: no search. */
  words: string;
  sort: Sort;
  /** Reversed means names from Z, or the smallest or oldest first. */
  order: "" | "reversed";
  /** Whether folder sizes are counted. */
  sizes: "" | "shown";
  show: "objects" | "versions" | "uploads";
  /** Key of the object in the detail panel. */
  key: string;
}

const NAMES: Readonly<Record<keyof Place, string>> = {
  folder: "in",
  filter: "begins",
  words: "search",
  sort: "sort",
  order: "order",
  sizes: "sizes",
  show: "show",
  key: "object",
};
const HOME: Place = { folder: "", filter: "", words: "", sort: "name", order: "", sizes: "", show: "objects", key: "" };

function write(words: URLSearchParams, to: Partial<Place>): void {
  for (const [name, value] of Object.entries(to) as [keyof Place, string][]) {
    if (value === HOME[name]) words.delete(NAMES[name]);
    else words.set(NAMES[name], value);
  }
}

export function usePlace(): {
  place: Place;
  go: (to: Partial<Place>, as?: ChangeAs) => void;
  href: (to: Partial<Place>) => string;
} {
  const { params, path, change } = useAddress();
  const word = (name: keyof Place): string => params.get(NAMES[name]) ?? HOME[name];
  const shown = word("show");
  const place: Place = {
    folder: word("folder"),
    filter: word("filter"),
    words: word("words"),
    sort: SORTS.find((sort) => sort === word("sort")) ?? "name",
    order: word("order") === "reversed" ? "reversed" : "",
    sizes: word("sizes") === "shown" ? "shown" : "",
    show: shown === "versions" || shown === "uploads" ? shown : "objects",
    key: word("key"),
  };
  const href = (to: Partial<Place>): string => {
    const next = new URLSearchParams(params);
    write(next, to);
    const query = next.toString();
    return query === "" ? path : `${path}?${query}`;
  };
  const go = (to: Partial<Place>, as: ChangeAs = "same"): void =>
    change((words) => {
      // Drops a delayed change, such as typed text, when another folder was opened meanwhile.
      const isElsewhere = (words.get(NAMES.folder) ?? HOME.folder) !== place.folder;
      if (isElsewhere && to.folder === undefined) return;
      write(words, to);
    }, as);
  return { place, go, href };
}

/** Returns the parent folder; null at the top. */
export function folderAbove(folder: string): string | null {
  if (folder === "") return null;
  return folder.slice(0, folder.slice(0, -1).lastIndexOf("/") + 1);
}
