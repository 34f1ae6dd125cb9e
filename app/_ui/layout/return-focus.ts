"use client";
import { useCallback, useEffect, useState } from "react";

/**
 * Where focus goes when a dialog closes: to what opened it. That may be gone, or go a moment later with the row that the dialog was
 * about; focus would then fall to the body, and the next Tab would begin at the top of the page. It goes to what stands nearest
 * instead, and at last to the page's content. All dialogs use this, the palette too.
 */

/** What opened a dialog, and what it stood in, from the inside out. */
interface Origin {
  element: HTMLElement;
  around: readonly HTMLElement[];
  /** Of the dialog that was open then: where focus goes when that one is gone too. */
  before: Origin | null;
}

/** Focus is looked after for so long: what a dialog did shows after the hub was asked again. */
const WATCH_MS = 5_000;
const TABBABLE =
  "a[href], button:not([disabled]), input:not([disabled]), select:not([disabled]), textarea:not([disabled])";

/** Those of the dialogs that are open, the topmost last. */
const open: Origin[] = [];

function originNow(): Origin {
  const active = document.activeElement;
  const element = active instanceof HTMLElement ? active : document.body;
  const around: HTMLElement[] = [];
  for (let outer = element.parentElement; outer !== null; outer = outer.parentElement) around.push(outer);
  return { element, around, before: open.at(-1) ?? null };
}

const isBody = (element: Element | null): boolean =>
  element === null || element === document.body || element === document.documentElement;

/** Elements that are gone, hidden or disabled take no focus. */
const takesFocus = (element: HTMLElement): boolean =>
  element.isConnected && !element.matches(":disabled") && element.getClientRects().length > 0;

/** Returns what opened the dialog, or what is left nearest to it. */
function nearestLeft({ element, around, before }: Origin): HTMLElement | null {
  if (takesFocus(element) && !isBody(element)) return element;
  for (const outer of around) {
    if (!outer.isConnected && before !== null && outer.matches("[role=dialog]")) return nearestLeft(before);
    if (!takesFocus(outer) || isBody(outer)) continue;
    if (outer.matches("main, [role=dialog]")) return outer;
    const inside = [...outer.querySelectorAll<HTMLElement>(TABBABLE)].find(takesFocus);
    if (inside !== undefined) return inside;
  }
  return document.querySelector<HTMLElement>("main");
}

/** Moves focus again whenever it falls to the body, until somebody does something or some seconds have passed. */
function watchFocus(origin: Origin): void {
  const check = (): void => {
    if (isBody(document.activeElement)) nearestLeft(origin)?.focus({ preventScroll: true });
  };
  const observer = new MutationObserver(check);
  const end = (): void => {
    observer.disconnect();
    clearTimeout(timer);
    for (const kind of ["keydown", "pointerdown"]) window.removeEventListener(kind, end, true);
  };
  const timer = setTimeout(end, WATCH_MS);
  for (const kind of ["keydown", "pointerdown"]) window.addEventListener(kind, end, true);
  observer.observe(document.body, { childList: true, subtree: true, attributes: true, attributeFilter: ["disabled"] });
  // What goes in the same moment as the dialog is still there when Base UI asks.
  setTimeout(check);
}

/**
 * Returns what a dialog gives Base UI as `finalFocus`. What had the focus when the dialog was first drawn is what opened it; where that
 * was taken away with the dialog before, what opened that one.
 */
export function useReturnFocus(): () => HTMLElement | false | null {
  const [origin] = useState(() => (typeof document === "undefined" ? null : originNow()));
  useEffect(() => {
    if (origin === null) return undefined;
    open.push(origin);
    return () => void open.splice(open.indexOf(origin), 1);
  }, [origin]);
  return useCallback(() => {
    if (origin === null) return null;
    watchFocus(origin);
    const place = nearestLeft(origin);
    // Base UI would go to the first thing in it; `watchFocus` goes to the content itself.
    return place?.matches("main") === true ? false : place;
  }, [origin]);
}
