"use client";
import { useKeptText } from "../_hub/preferences/kept-text.ts";
import { DropBox } from "../_ui/controls/drop-box.tsx";
import { FilterWords } from "../_ui/controls/filter-words.tsx";
import { onDemand } from "../_ui/loading/on-demand.tsx";
import { PlainSelect } from "../_ui/controls/plain-select.tsx";
import { SkeletonRows } from "../_ui/loading/skeleton.tsx";
import { ORDER_CHOICES } from "./node-order.ts";

const wait = () => <SkeletonRows rows={3} />;
const SavedFilters = onDemand(() => import("./saved-filters.tsx").then((module) => module.SavedFilters), wait);
const ColumnChoice = onDemand(() => import("./column-choice.tsx").then((module) => module.ColumnChoice), wait);

const VIEWS = [
  { id: "table", label: "Table" },
  { id: "tiles", label: "Tiles" },
];

/** Returns the columns chosen in this browser, as text, and the setter; null for the default columns. */
export const useNodeColumns = () => useKeptText("tidemark-node-columns");

interface ListToolsProps {
  view: "table" | "tiles";
  onView: (view: string) => void;
  /** Sort order as in the address. */
  sort: string;
  onSort: (sort: string) => void;
}

/** Controls of the node list: saved filters, columns, table or tiles. */
export function ListTools({ view, onView, sort, onSort }: ListToolsProps) {
  const [columns, keepColumns] = useNodeColumns();
  return (
    <div className="flex flex-wrap items-center gap-x-2 gap-y-1 sm:ml-auto">
      <DropBox label="Saved filters">
        <SavedFilters />
      </DropBox>
      {view === "table" && (
        <DropBox label="Columns">
          <ColumnChoice text={columns} onChange={keepColumns} />
        </DropBox>
      )}
      {view === "tiles" && (
        <div className="w-44">
          <PlainSelect
            label="Order"
            value={sort.replace(/^-/, "")}
            placeholder=""
            choices={ORDER_CHOICES}
            onChange={onSort}
          />
        </div>
      )}
      <div className="pl-2">
        <FilterWords label="Shown as" words={VIEWS} value={view} onChange={onView} />
      </div>
    </div>
  );
}
