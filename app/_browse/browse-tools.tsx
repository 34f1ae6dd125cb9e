"use client";
import type { ReactNode } from "react";
import { SearchField } from "../_ui/controls/search-field.tsx";
import type { ChangeAs } from "../_hub/address/address-changes.ts";
import { FilterWords } from "../_ui/controls/filter-words.tsx";
import { SORTS, type Place } from "./use-place.ts";

const SHOWS = [
  { id: "objects", label: "Objects" },
  { id: "versions", label: "Versions" },
  { id: "uploads", label: "Unfinished uploads" },
];
const COMMANDS = [
  { id: "name", label: "by name" },
  { id: "size", label: "by size" },
  { id: "date", label: "by date" },
];

interface BrowseToolsProps {
  place: Place;
  go: (to: Partial<Place>, as: ChangeAs) => void;
  /** Further actions on the folder. */
  children?: ReactNode;
}

/** Controls for what is shown of a folder, and in which order. */
export function BrowseTools({ place, go, children }: BrowseToolsProps) {
  return (
    <div className="flex flex-wrap items-center gap-x-3 gap-y-2 border-b border-line px-4 py-2.5">
      <SearchField
        // A new key per folder drops text that is still being typed for the previous folder.
        key={`begins ${place.folder}`}
        label="Names in this folder that begin with"
        value={place.filter}
        placeholder="Begins with"
        width="short"
        onChange={(filter) => go({ filter }, "same")}
      />
      <SearchField
        key={`search ${place.folder}`}
        label="Search all names below this folder"
        value={place.words}
        placeholder="Search below"
        width="short"
        onChange={(words) => go({ words, show: "objects" }, "same")}
      />
      <FilterWords
        label="Show"
        words={SHOWS}
        value={place.show}
        onChange={(show) =>
          go({ show: show === "versions" || show === "uploads" ? show : "objects", words: "" }, "step")
        }
      />
      {place.show === "objects" && place.words === "" && (
        // Only on narrow screens: wider lists sort by their column heads.
        <div className="sm:hidden">
          <FilterWords
            label="Order"
            words={COMMANDS}
            value={place.sort}
            onChange={(word) => go({ sort: SORTS.find((sort) => sort === word) ?? "name", order: "" }, "step")}
          />
        </div>
      )}
      <div className="ml-auto flex flex-wrap gap-2">{children}</div>
    </div>
  );
}
