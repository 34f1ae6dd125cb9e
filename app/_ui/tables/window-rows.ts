"use client";
import { useEffect, useState, type RefObject } from "react";

/** Which rows of a long list stand on the screen, and how much room the others take above and below. */
export interface RowWindow {
  first: number;
  /** One past the last. */
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
  /** Lists up to this long are drawn whole. */
  whole?: number;
}

const SPARE_ROWS = 8;
/** Lists up to this long are drawn whole: searching in the page and printing work there. */
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
    // The first look comes with the first size, when the browser has laid out the page anyway.
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
