"use client";
import { useCallback, useEffect, useState } from "react";

/**
 * Returns the focus to the element that opened a dialog. The opener may be gone, or vanish a moment later with its row. The
 * browser would then focus the body, and the next Tab would start at the top of the page. Instead the nearest remaining
 * element gets the focus, or else the page's content. All dialogs use this, the command palette too.
 */

/** The element that opened a dialog, and its ancestors from the inside out. */
interface Origin {
  element: HTMLElement;
  around: readonly HTMLElement[];
  /** Origin of the dialog that was open at that time: the fallback when that dialog is gone too. */
  before: Origin | null;
}

/** How long the focus is guarded, in milliseconds. The effect of a dialog appears only after the hub has answered. */
const WATCH_MS = 5_000;
const TABBABLE =
  "a[href], button:not([disabled]), input:not([disabled]), select:not([disabled]), textarea:not([disabled])";

/** Origins of the open dialogs, the topmost last. */
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

/** Returns whether an element can take the focus: elements that are removed, hidden or disabled cannot. */
const takesFocus = (element: HTMLElement): boolean =>
  element.isConnected && !element.matches(":disabled") && element.getClientRects().length > 0;

/** Returns the element that opened the dialog, or the nearest one that remains. */
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

/** Moves the focus again whenever it falls to the body, until a key or pointer is pressed or `WATCH_MS` has passed. */
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
  // An element that is removed together with the dialog still exists when Base UI asks for the focus target.
  setTimeout(check);
}

/**
 * Returns the function that a dialog passes to Base UI as `finalFocus`. The element focused at the first rendering counts as
 * the opener. When that element vanished with an earlier dialog, the opener of the earlier dialog is used.
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
    // Base UI would focus the first focusable element inside `main`; `watchFocus` focuses `main` itself.
    return place?.matches("main") === true ? false : place;
  }, [origin]);
}
