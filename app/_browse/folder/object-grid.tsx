"use client";
import { useEffect, useRef, type MouseEvent } from "react";
import { SortHead, type TableSort } from "../../_ui/tables/table.tsx";
import { extend, toggle } from "../selection/change-selection.ts";
import type { FolderSize } from "./folder-sizes.ts";
import type { BucketRow } from "./folder-pages.ts";
import { GridRow } from "./grid-row.tsx";
import { ROW_HEIGHT, tallView } from "./tall-rows.ts";
import { useGridKeys, type RowHandling } from "./use-grid-keys.ts";
import { useScrollWindow } from "./use-scroll-window.ts";

/**
 * A list of any length of which only the visible rows are drawn. Arrow keys move, Enter opens, Backspace goes up, Space
 * selects, and Shift extends the selection. The focus stays on the list itself, so that rows can be added and removed below
 * it.
 */

interface ObjectGridProps extends RowHandling {
  label: string;
  count: number;
  rowAt: (index: number) => BucketRow | null;
  /** Called with the visible rows, so that missing ones are loaded. */
  onLook: (first: number, end: number) => void;
  /** Common prefix of all keys, which the names leave out. */
  prefix: string;
  /** Key of the object in the detail panel. */
  openKey: string;
  /** Null when the rows cannot be sorted. */
  sort: TableSort | null;
  /** Returns the size of a folder; null when it was not counted. */
  folderSize?: (folder: string) => FolderSize | null;
}

const HEADS = [
  { key: "name", head: "Name", look: "text-left" },
  { key: "size", head: "Size", look: "w-[84px] text-right sm:w-[96px]" },
  { key: "date", head: "Changed", look: "w-[110px] text-right max-sm:hidden" },
];

/** ARIA calls a table with arrow-key navigation a grid. */
const GRID = { role: "grid", tabIndex: 0, "aria-multiselectable": true } as const;

export function ObjectGrid(props: ObjectGridProps) {
  const { label, count, rowAt, onLook, prefix, selection, onSelect, onOpen, openKey, sort } = props;
  const area = useRef<HTMLDivElement>(null);
  const screen = useScrollWindow(area);
  const { table, active, setActive, onKeyDown } = useGridKeys({ count, rowAt, area, screen }, props);
  const view = tallView({ count, ...screen });
  useEffect(() => onLook(view.first, view.end), [onLook, view.first, view.end]);

  const click = (event: MouseEvent, row: BucketRow, index: number): void => {
    setActive(index);
    if (event.shiftKey) onSelect(extend(selection, index, rowAt));
    else if (event.ctrlKey || event.metaKey) onSelect(toggle(selection, row, index));
    else onOpen(row);
  };
  const indexes = Array.from({ length: view.end - view.first }, (_, at) => view.first + at);
  const activeRow = rowAt(active);
  const height = indexes.length * ROW_HEIGHT;
  const grid = {
    ...GRID,
    "aria-activedescendant": activeRow === null ? undefined : `row-${active}`,
    onKeyDown,
  };
  return (
    <div ref={area} className="max-h-[calc(100dvh-330px)] min-h-40 overflow-y-auto overscroll-contain">
      <table
        {...grid}
        ref={table}
        aria-label={label}
        aria-rowcount={count + 1}
        className="group/list w-full table-fixed border-separate border-spacing-0 outline-offset-[-2px]"
      >
        <GridHead sort={sort} />
        <tbody>
          <Spacer height={view.top} />
          {indexes.map((index) => {
            const row = rowAt(index);
            return (
              <GridRow
                key={index}
                index={index}
                row={row}
                prefix={prefix}
                folderSize={row?.kind === "folder" ? (props.folderSize?.(row.key) ?? null) : null}
                isActive={index === active}
                isChosen={row !== null && selection.chosen.has(row.key)}
                isOpen={row !== null && row.key === openKey}
                onClick={(event) => row !== null && click(event, row, index)}
                onChoose={(event) =>
                  row !== null &&
                  onSelect(event.shiftKey ? extend(selection, index, rowAt) : toggle(selection, row, index))
                }
              />
            );
          })}
          <Spacer height={Math.max(0, view.height - view.top - height)} />
        </tbody>
      </table>
    </div>
  );
}

/** Shows the column heads, which stay above the rows while scrolling. */
function GridHead({ sort }: { sort: TableSort | null }) {
  return (
    <thead className="sticky top-0 z-[1] bg-panel">
      <tr
        aria-rowindex={1}
        className="h-[33px] text-12 text-faint [&>th]:border-b [&>th]:border-line [&>th]:p-0 [&>th]:font-medium"
      >
        <th scope="col" className="w-[38px]">
          <span className="sr-only">Chosen</span>
        </th>
        {HEADS.map((column) => (
          <th
            key={column.key}
            scope="col"
            aria-sort={sort?.column === column.key ? sort.direction : undefined}
            className={column.look}
          >
            <span className={column.key === "name" ? undefined : "pr-4"}>
              {sort === null ? column.head : <SortHead column={column} sort={sort} />}
            </span>
          </th>
        ))}
      </tr>
    </thead>
  );
}

/** Takes the height of rows that are not drawn. */
function Spacer({ height }: { height: number }) {
  if (height === 0) return null;
  return (
    <tr aria-hidden>
      <td colSpan={4} className="border-0 p-0 text-[0px] leading-[0]" style={{ height }}>
        {"\u00a0"}
      </td>
    </tr>
  );
}
