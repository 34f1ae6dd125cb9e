"use client";
import { useEffect, useRef, useState, type KeyboardEvent, type RefObject } from "react";
import { extend, toggle } from "../selection/change-selection.ts";
import type { Selection } from "../selection/selection.ts";
import type { BucketRow } from "./folder-pages.ts";
import { ROW_HEIGHT, scrollTo } from "./tall-rows.ts";
import type { ScrollWindow } from "./use-scroll-window.ts";

/** State and callbacks of a list's rows. */
export interface RowHandling {
  selection: Selection;
  onSelect: (selection: Selection) => void;
  onOpen: (row: BucketRow) => void;
  /** Null at the top of the bucket. */
  onUp: (() => void) | null;
}

interface GridList {
  count: number;
  rowAt: (index: number) => BucketRow | null;
  area: RefObject<HTMLElement | null>;
  screen: ScrollWindow;
}

/** Set while the keyboard changes the folder, so that the list of the next folder takes the focus. */
const walking = { on: false };

/** Handles keyboard navigation in a list. `table` is the element that has the focus. */
export function useGridKeys(list: GridList, { selection, onSelect, onOpen, onUp }: RowHandling) {
  const { count, rowAt, screen } = list;
  const table = useRef<HTMLTableElement>(null);
  const [active, setActive] = useState(0);
  useEffect(() => {
    if (walking.on) table.current?.focus();
    walking.on = false;
  }, []);
  const walk = (to: number): number => {
    const index = Math.min(count - 1, Math.max(0, to));
    setActive(index);
    const top = scrollTo(index, { count, ...screen });
    if (top !== null) list.area.current?.scrollTo({ top });
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
    const page = Math.max(1, Math.floor(screen.screenHeight / ROW_HEIGHT) - 1);
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
  return {
    table,
    active,
    setActive,
    onKeyDown: (event: KeyboardEvent): void => {
      press(event);
      // The page's own `j` and `k` move between links; here they move between rows.
      if (event.key === "j" || event.key === "k") event.stopPropagation();
    },
  };
}
