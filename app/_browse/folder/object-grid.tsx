"use client";
import { File, Folder as FolderIcon } from "lucide-react";
import { useEffect, useLayoutEffect, useRef, useState, type KeyboardEvent, type MouseEvent } from "react";
import { formatCount } from "#protocol/base/units.ts";
import { Age } from "../../_hub/live/age.tsx";
import { wordsOf } from "../../_hub/faults/fault-of.ts";
import { classNames } from "../../_ui/rendering/class-names.ts";
import { Skeleton } from "../../_ui/loading/skeleton.tsx";
import { SortHead, type TableSort } from "../../_ui/tables/table.tsx";
import { shortText, visibleText } from "../../_ui/text/visible-text.ts";
import type { FolderSize } from "./folder-sizes.ts";
import type { BucketRow } from "./folder.ts";
import { extend, toggle, type Selection } from "../selection/selection.ts";
import { ROW_HEIGHT, scrollTo, tallView } from "./tall-rows.ts";
import { formatBytes } from "../../_ui/text/sizes.ts";

/**
 * A list of any length, of which only what is on the screen is drawn. Arrow keys walk, Enter opens, Backspace goes up, Space
 * chooses, with Shift a range. The focus stays on the list itself, so that rows may come and go beneath it.
 */

/** What a list of rows is told to do with them. */
export interface RowHandling {
  selection: Selection;
  onSelect: (selection: Selection) => void;
  onOpen: (row: BucketRow) => void;
  /** Null at the top. */
  onUp: (() => void) | null;
}

interface ObjectGridProps extends RowHandling {
  label: string;
  count: number;
  rowAt: (index: number) => BucketRow | null;
  /** Rows on the screen: those that are missing are fetched. */
  onLook: (first: number, end: number) => void;
  /** What every key begins with; left out of the names. */
  prefix: string;
  /** The object that is shown beside the list. */
  openKey: string;
  /** Null where the rows keep the order they were found in. */
  sort: TableSort | null;
  /** The sum of a folder; null where it was not counted. */
  folderSize?: (folder: string) => FolderSize | null;
}

const HEADS = [
  { key: "name", head: "Name", look: "text-left" },
  { key: "size", head: "Size", look: "w-[84px] text-right sm:w-[96px]" },
  { key: "date", head: "Changed", look: "w-[110px] text-right max-sm:hidden" },
];

/** A table that is walked through with the arrow keys is what ARIA calls a grid. */
const GRID = { role: "grid", tabIndex: 0, "aria-multiselectable": true } as const;
/** Of the row with the columns' names, which stays above the others. */
const HEAD_HEIGHT = 33;
const CELL = "h-[34px] border-b border-line p-0";

/** The end of a long name is what tells it from others. */
const LONGEST = 220;

/** Another folder is another list: whoever walks by keyboard takes the focus along. */
const walking = { on: false };

export function ObjectGrid(props: ObjectGridProps) {
  const { label, count, rowAt, onLook, prefix, selection, onSelect, onOpen, onUp, openKey, sort } = props;
  const area = useRef<HTMLDivElement>(null);
  const table = useRef<HTMLTableElement>(null);
  const [seen, setSeen] = useState({ scrollTop: 0, screenHeight: 600 });
  const [active, setActive] = useState(0);
  const view = tallView({ count, ...seen });

  useLayoutEffect(() => {
    const element = area.current;
    if (element === null) return;
    const look = (): void => {
      const next = {
        scrollTop: element.scrollTop,
        screenHeight: Math.max(ROW_HEIGHT, element.clientHeight - HEAD_HEIGHT),
      };
      setSeen((old) => (old.scrollTop === next.scrollTop && old.screenHeight === next.screenHeight ? old : next));
    };
    look();
    const watch = new ResizeObserver(look);
    watch.observe(element);
    element.addEventListener("scroll", look, { passive: true });
    return () => {
      watch.disconnect();
      element.removeEventListener("scroll", look);
    };
  }, []);
  useEffect(() => {
    if (walking.on) table.current?.focus();
    walking.on = false;
  }, []);
  useEffect(() => onLook(view.first, view.end), [onLook, view.first, view.end]);

  const walk = (to: number): number => {
    const index = Math.min(count - 1, Math.max(0, to));
    setActive(index);
    const top = scrollTo(index, { count, ...seen });
    if (top !== null) area.current?.scrollTo({ top });
    return index;
  };
  const step = (event: KeyboardEvent, to: number): void => {
    event.preventDefault();
    if (count === 0) return;
    const from = event.shiftKey && selection.chosen.size === 0 ? { ...selection, anchor: active } : selection;
    const index = walk(to);
    if (event.shiftKey) onSelect(extend(from, index, rowAt));
  };
  const press = (event: KeyboardEvent): void => {
    if (event.ctrlKey || event.metaKey || event.altKey) {
      if (event.key.toLowerCase() !== "a" || event.altKey) return;
      event.preventDefault();
      onSelect(extend({ ...selection, anchor: 0 }, count - 1, rowAt));
      return;
    }
    const page = Math.max(1, Math.floor(seen.screenHeight / ROW_HEIGHT) - 1);
    const row = rowAt(active);
    switch (event.key) {
      case "ArrowDown":
      case "j":
        return step(event, active + 1);
      case "ArrowUp":
      case "k":
        return step(event, active - 1);
      case "PageDown":
        return step(event, active + page);
      case "PageUp":
        return step(event, active - page);
      case "Home":
        return step(event, 0);
      case "End":
        return step(event, count - 1);
      case "Enter":
        walking.on = row?.kind === "folder";
        if (row !== null) onOpen(row);
        return;
      case "Backspace":
        event.preventDefault();
        walking.on = onUp !== null;
        return onUp?.();
      case " ":
      case "x":
        event.preventDefault();
        if (row !== null) onSelect(event.shiftKey ? extend(selection, active, rowAt) : toggle(selection, row, active));
        return;
      case "Escape":
        if (selection.chosen.size > 0) onSelect({ chosen: new Map(), anchor: active });
        return;
      default:
    }
  };
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
    onKeyDown: (event: KeyboardEvent) => {
      press(event);
      // The page's own keys walk over links; here they walk over rows.
      if (event.key === "j" || event.key === "k") event.stopPropagation();
    },
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

/** Stands for the rows that are not drawn. */
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

interface GridRowProps {
  index: number;
  row: BucketRow | null;
  prefix: string;
  folderSize: FolderSize | null;
  isActive: boolean;
  isChosen: boolean;
  isOpen: boolean;
  onClick: (event: MouseEvent) => void;
  onChoose: (event: MouseEvent) => void;
}

function sizeWords({ bytes, state }: FolderSize): string {
  switch (state) {
    case "counting":
      return `${formatBytes(bytes)}…`;
    case "whole":
      return formatBytes(bytes);
    case "partial":
      return `> ${formatBytes(bytes)}`;
    case "failed":
      return "not known";
  }
}

function countWords({ objects, state, fault }: FolderSize): string {
  if (fault !== null) return `It could not be counted: ${wordsOf(fault).says}`;
  const count = `${formatCount(objects)} ${objects === 1 ? "object" : "objects"}`;
  return state === "whole" ? count : `${count} counted, there are more`;
}

function GridRow({ index, row, prefix, folderSize, isActive, isChosen, isOpen, onClick, onChoose }: GridRowProps) {
  const name = row === null ? "" : row.key.slice(prefix.length);
  const Picture = row?.kind === "folder" ? FolderIcon : File;
  const shown = shortText(name === "" && row !== null ? row.key : name, LONGEST);
  return (
    <tr
      id={`row-${index}`}
      aria-rowindex={index + 2}
      aria-selected={isChosen}
      className={classNames(
        "hover:bg-bg",
        isChosen && "bg-sunk",
        isOpen && "bg-sunk font-mid",
        isActive && "group-focus-visible/list:shadow-[inset_2px_0_0_var(--accent)]",
      )}
    >
      <td className={classNames(CELL, "text-center")}>
        <button
          type="button"
          tabIndex={-1}
          disabled={row === null}
          aria-label={`${isChosen ? "Leave out" : "Choose"} ${shortText(name, 80)}`}
          aria-pressed={isChosen}
          onClick={onChoose}
          className="group/choose inline-grid size-6 place-items-center align-middle"
        >
          <span
            className={classNames(
              "size-[15px] rounded-1 border",
              isChosen ? "border-accent bg-accent" : "border-edge bg-panel group-hover/choose:border-accent",
            )}
          />
        </button>
      </td>
      <td className={CELL}>
        {row === null ? (
          <Skeleton className="h-3 w-40" />
        ) : (
          <span className="flex min-w-0 items-center gap-2">
            <Picture
              size={14}
              aria-hidden
              className={row.kind === "folder" ? "shrink-0 text-accent" : "shrink-0 text-faint"}
            />
            <button
              type="button"
              tabIndex={-1}
              onClick={onClick}
              title={visibleText(row.key).slice(0, 1200)}
              dir="ltr"
              className="min-h-6 min-w-0 truncate text-left hover:underline"
            >
              {shown}
            </button>
          </span>
        )}
      </td>
      <td className={classNames(CELL, "nums truncate text-right text-soft")}>
        <span className="pr-4" title={folderSize === null ? undefined : countWords(folderSize)}>
          {row?.kind === "object" ? formatBytes(row.sizeBytes) : folderSize !== null && sizeWords(folderSize)}
        </span>
      </td>
      <td className={classNames(CELL, "truncate text-right text-12 text-faint max-sm:hidden")}>
        <span className="pr-4">{row?.kind === "object" && <Age at={row.modifiedAt} />}</span>
      </td>
    </tr>
  );
}
