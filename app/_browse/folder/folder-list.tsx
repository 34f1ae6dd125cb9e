"use client";
import { useCallback, useEffect, useMemo, useState } from "react";
import { formatCount } from "#protocol/base/units.ts";
import { repeatedWords } from "#protocol/checkpoint/unreadable-names.ts";
import { FaultNote } from "../../_hub/faults/fault-note.tsx";
import { Empty } from "../../_ui/layout/panel.tsx";
import { SkeletonRows } from "../../_ui/loading/skeleton.tsx";
import { UnreadableNames } from "../../_ui/tables/unreadable-names.tsx";
import { visibleText } from "../../_ui/text/visible-text.ts";
import type { BucketRow } from "./folder-pages.ts";
import type { Folder, FolderState } from "./folder.ts";
import { ObjectGrid } from "./object-grid.tsx";
import type { RowHandling } from "./use-grid-keys.ts";
import { isStoreOrder, sortRows } from "./sort-rows.ts";
import type { TableSort } from "../../_ui/tables/table.tsx";
import { useFolderSizes } from "./use-folder-sizes.ts";
import { SORTS, type Place } from "../use-place.ts";
import { formatBytes } from "../../_ui/text/sizes.ts";

interface FolderListProps extends RowHandling {
  profileId: string;
  folder: Folder;
  state: FolderState;
  place: Place;
  /** A new number counts the folder sizes again. */
  turn: number;
  onSort: (to: Pick<Place, "sort" | "order">) => void;
}

/** Returns the sort state of the column heads. Clicking the current column again reverses the order. */
function headsOf({ sort, order }: Place, onSort: FolderListProps["onSort"]): TableSort {
  const isRising = (sort === "name") === (order === "");
  return {
    keys: new Set<string>(SORTS),
    column: sort,
    direction: isRising ? "ascending" : "descending",
    onPress: (key) =>
      onSort({
        sort: SORTS.find((one) => one === key) ?? "name",
        order: key === sort && order === "" ? "reversed" : "",
      }),
  };
}

/** Shows the rows of a folder. It says "empty" only after the listing has completed. */
export function FolderList({ profileId, folder, state, place, turn, onSort, ...handling }: FolderListProps) {
  const { count, isComplete, fault, isWhole } = state;
  const { sort, order } = place;
  const isOther = !isStoreOrder({ sort, order });
  const { sizes, sizeOf } = useFolderSizes({ profileId, turn });
  const sorted = useMemo(() => {
    if (!isOther || !state.isWhole) return null;
    // Sizes as of this sorting, so that rows do not move while further sizes arrive.
    const known = sizes.state();
    const rows = Array.from({ length: state.count }, (_, index) => state.rowAt(index)).filter((row) => row !== null);
    return sortRows(rows, { sort, order }, (key) => {
      const size = known(key);
      return size?.state === "whole" || size?.state === "partial" ? size.bytes : null;
    });
  }, [sizes, isOther, sort, order, state]);
  const rowAt = sorted === null ? state.rowAt : (index: number): BucketRow | null => sorted[index] ?? null;
  const [looked, setLooked] = useState({ first: 0, end: 0 });
  const look = useCallback(
    (first: number, end: number): void => {
      setLooked({ first, end });
      folder.need(first, end);
    },
    [folder],
  );
  const isSized = place.sizes === "shown";
  const inSight = isSized
    ? Array.from({ length: looked.end - looked.first }, (_, at) => rowAt(looked.first + at)).flatMap((row) =>
        row?.kind === "folder" ? [row.key] : [],
      )
    : [];
  const wanted = JSON.stringify(inSight);
  useEffect(() => sizes.need(JSON.parse(wanted) as string[]), [sizes, wanted]);
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
        key={place.folder}
        label="Objects"
        count={count}
        rowAt={rowAt}
        onLook={look}
        prefix={place.folder}
        {...handling}
        openKey={place.key}
        sort={headsOf(place, onSort)}
        {...(isSized ? { folderSize: sizeOf } : {})}
      />
      <FolderFoot state={state} order={isOther ? (isWhole ? "sorted" : "too many") : "as listed"} sort={sort} />
      <UnreadableNames first={state.unreadable} />
      {state.repeated > 0 && <p className="px-4 py-2 text-soft">{repeatedWords(state.repeated)}</p>}
      {fault !== null && (
        <div className="border-t border-line p-3">
          <FaultNote fault={fault} onRetry={folder.retry} />
        </div>
      )}
    </>
  );
}

interface FolderFootProps {
  state: FolderState;
  sort: Place["sort"];
  order: "as listed" | "sorted" | "too many";
}

function FolderFoot({ state, order, sort }: FolderFootProps) {
  const { count, isComplete, isLoading, objects, bytes } = state;
  const rows = `${formatCount(count)} ${count === 1 ? "item" : "items"}`;
  return (
    <output className="nums block border-t border-line px-4 py-2 text-12 text-faint">
      {isComplete ? rows : `${rows} so far, more load as you scroll`}
      {objects > 0 && ` · ${formatBytes(bytes)} in ${formatCount(objects)} objects`}
      {isLoading && " · loading"}
      {order === "sorted" && !isComplete && ` · by ${sort} among what is loaded, not of the whole folder`}
      {order === "too many" && " · too many rows to sort here: narrow them by the beginning of the name"}
    </output>
  );
}
