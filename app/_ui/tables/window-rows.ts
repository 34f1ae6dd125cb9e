"use client";
import { useEffect, useState, type RefObject } from "react";

/** Rows of a long list that are drawn, and the height of the rows above and below them, in pixels. */
export interface RowWindow {
  first: number;
  /** One past the last drawn row. */
  end: number;
  before: number;
  after: number;
}

interface View {
  count: number;
  rowHeight: number;
  /** Distance from the top of the rows to the top of the screen; negative while the rows begin further down. */
  scrolled: number;
  screenHeight: number;
  /** Longest list that is drawn completely. */
  whole?: number;
}

const SPARE_ROWS = 8;
/** Default for `whole`. In a fully drawn list, find-in-page and printing work. */
const WHOLE = 120;

export function rowWindow({ count, rowHeight, scrolled, screenHeight, whole = WHOLE }: View): RowWindow {
  if (count <= whole) return { first: 0, end: count, before: 0, after: 0 };
  const first = Math.min(count, Math.max(0, Math.floor(scrolled / rowHeight) - SPARE_ROWS));
  const end = Math.max(first, Math.min(count, Math.ceil((scrolled + screenHeight) / rowHeight) + SPARE_ROWS));
  return { first, end, before: first * rowHeight, after: (count - end) * rowHeight };
}

export function useRowWindow(options: {
  count: number;
  rowHeight: number;
  rows: RefObject<HTMLElement | null>;
  whole?: number;
}): RowWindow {
  const { count, rowHeight, rows, whole = WHOLE } = options;
  const [view, setView] = useState({ scrolled: 0, screenHeight: 1000 });
  const isDrawnWhole = count <= whole;
  useEffect(() => {
    const frame = rows.current;
    if (isDrawnWhole || frame === null) return undefined;
    const look = (): void => {
      const { top } = frame.getBoundingClientRect();
      const scrolled = Math.floor(-top / (rowHeight * 4)) * rowHeight * 4;
      setView((old) =>
        old.scrolled === scrolled && old.screenHeight === window.innerHeight
          ? old
          : { scrolled, screenHeight: window.innerHeight },
      );
    };
    // `ResizeObserver` calls back once at the start, after layout, so this costs no extra layout.
    const watch = new ResizeObserver(look);
    watch.observe(frame);
    window.addEventListener("scroll", look, { passive: true });
    window.addEventListener("resize", look);
    return () => {
      watch.disconnect();
      window.removeEventListener("scroll", look);
      window.removeEventListener("resize", look);
    };
  }, [rows, rowHeight, isDrawnWhole]);
  return rowWindow({
    count,
    rowHeight,
    scrolled: view.scrolled,
    screenHeight: view.screenHeight + rowHeight * 4,
    whole,
  });
}
