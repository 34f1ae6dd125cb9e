"use client";
import { useLayoutEffect, useState, type RefObject } from "react";
import { ROW_HEIGHT } from "./tall-rows.ts";

/** Height of the column heads, which stay above the rows, in pixels. */
const HEAD_HEIGHT = 33;

export interface ScrollWindow {
  scrollTop: number;
  screenHeight: number;
}

/** Returns the scroll position of a list and the height of its visible area, in pixels. */
export function useScrollWindow(area: RefObject<HTMLElement | null>): ScrollWindow {
  const [seen, setSeen] = useState<ScrollWindow>({ scrollTop: 0, screenHeight: 600 });
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
  }, [area]);
  return seen;
}
