"use client";
import { SearchField } from "../_ui/controls/search-field.tsx";
import { Button } from "../_ui/controls/button.tsx";
import { DayRange } from "../_ui/controls/day-range.tsx";
import { PlainSelect } from "../_ui/controls/plain-select.tsx";
import type { ChangeAs } from "../_hub/address/address-changes.ts";
import { directionOf, isSearching, type TransferSearch } from "./transfer-filter.ts";

const DIRECTIONS = [
  { value: "any", label: "All directions" },
  { value: "upload", label: "Uploads" },
  { value: "download", label: "Restores" },
  { value: "verify", label: "Verifications" },
  { value: "drill", label: "Restore drills" },
  { value: "copy", label: "Copies to other buckets" },
];

interface TransferSearchLineProps {
  search: TransferSearch;
  change: (some: Partial<TransferSearch>, as: ChangeAs) => void;
  clear: () => void;
}

/** Shows filter fields for node, run, direction and the days on which transfers began. */
export function TransferSearchLine({ search, change, clear }: TransferSearchLineProps) {
  const { node, run, direction, fromDay, toDay } = search;
  return (
    <div className="flex flex-wrap items-center gap-x-3 gap-y-2">
      <SearchField
        label="Node"
        width="short"
        value={node}
        onChange={(words) => change({ node: words }, "same")}
        placeholder="Node"
      />
      <SearchField
        label="Run"
        width="short"
        value={run}
        onChange={(words) => change({ run: words }, "same")}
        placeholder="Run"
      />
      <div className="w-full sm:w-40">
        <PlainSelect
          label="Direction"
          placeholder="All directions"
          value={direction === "" ? "any" : direction}
          choices={DIRECTIONS}
          onChange={(value) => change({ direction: directionOf(value) }, "step")}
        />
      </div>
      <DayRange
        labels={["Begun from day", "Begun to day"]}
        fromDay={fromDay}
        toDay={toDay}
        onChange={(some) => change(some, "same")}
      />
      {isSearching(search) && (
        <Button look="quiet" size="small" onClick={clear}>
          Clear
        </Button>
      )}
    </div>
  );
}
