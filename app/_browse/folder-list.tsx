"use client";
import { useMemo } from "react";
import { formatCount } from "#protocol/units.ts";
import { FaultNote } from "../_hub/fault-note.tsx";
import { Empty } from "../_ui/panel.tsx";
import { SkeletonRows } from "../_ui/skeleton.tsx";
import { UnreadableNames } from "../_ui/unreadable-names.tsx";
import { visibleText } from "../_ui/visible-text.ts";
import type { BucketRow, Folder, FolderState } from "./folder.ts";
import { ObjectGrid, type RowHandling } from "./object-grid.tsx";
import { sortRows } from "./sort-rows.ts";
import type { Place } from "./use-place.ts";
import { formatBytes } from "../_ui/sizes.ts";

interface FolderListProps extends RowHandling {
  folder: Folder;
  state: FolderState;
  place: Place;
}

/** The rows of a folder. "Empty" is said only when the listing has completed. */
export function FolderList({ folder, state, place, ...handling }: FolderListProps) {
  const { count, isComplete, fault, isWhole } = state;
  const isSorted = place.sort !== "name" && isWhole;
  const sorted = useMemo(
    () => (place.sort !== "name" && state.isWhole ? sortRows(folder.held(), place.sort) : null),
    // The state changes whenever what is held does.
    [folder, place.sort, state],
  );
  const rowAt = sorted === null ? state.rowAt : (index: number): BucketRow | null => sorted[index] ?? null;
  if (count === 0 && fault !== null)
    return (
      <div className="p-3">
        <FaultNote fault={fault} onRetry={folder.retry} />
      </div>
    );
  if (count === 0 && !isComplete) return <SkeletonRows rows={8} label="Loading the folder" />;
  if (count === 0 && state.unreadable.length > 0) return <UnreadableNames first={state.unreadable} />;
  if (count === 0)
    return place.filter === "" ? (
      <Empty title={place.folder === "" ? "The bucket is empty" : "Nothing is in this folder"} />
    ) : (
      <Empty title={`Nothing here begins with “${visibleText(place.filter)}”`}>
        Names are compared as the store has them, upper and lower case apart. Search looks inside names, and in the
        folders below.
      </Empty>
    );
  return (
    <>
      <ObjectGrid
        key={`${place.folder} ${place.sort}`}
        label="Objects"
        count={count}
        rowAt={rowAt}
        onLook={folder.need}
        prefix={place.folder}
        {...handling}
        openKey={place.key}
      />
      <FolderFoot state={state} isSorted={isSorted} sort={place.sort} />
      <UnreadableNames first={state.unreadable} />
      {fault !== null && (
        <div className="border-t border-line p-3">
          <FaultNote fault={fault} onRetry={folder.retry} />
        </div>
      )}
    </>
  );
}

function FolderFoot({ state, isSorted, sort }: { state: FolderState; isSorted: boolean; sort: Place["sort"] }) {
  const { count, isComplete, isLoading, objects, bytes } = state;
  const rows = `${formatCount(count)} ${count === 1 ? "row" : "rows"}`;
  return (
    <output className="nums block border-t border-line px-4 py-2 text-12 text-faint">
      {isComplete ? `${rows}, all of it` : `${rows} so far, more follows as you go down`}
      {objects > 0 && ` · ${formatBytes(bytes)} in ${formatCount(objects)} objects`}
      {isLoading && " · loading"}
      {sort !== "name" && isSorted && !isComplete && ` · by ${sort} among what is loaded, not of the whole folder`}
      {sort !== "name" && !isSorted && " · too many rows to sort here: narrow them by the beginning of the name"}
    </output>
  );
}
