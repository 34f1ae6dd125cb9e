"use client";
import { useEffect, useEffectEvent } from "react";

const GO: Record<string, string> = {
  o: "/",
  n: "/nodes",
  r: "/runs",
  b: "/buckets",
  t: "/transfers",
  a: "/alerts",
  d: "/advice",
  m: "/benchmarks",
  e: "/events",
  s: "/settings",
};

const isTyping = (target: EventTarget | null): boolean =>
  target instanceof HTMLElement &&
  (target.isContentEditable || ["INPUT", "TEXTAREA", "SELECT"].includes(target.tagName));

function walkRows(step: 1 | -1): void {
  const rows = [...document.querySelectorAll<HTMLElement>("main [data-row-link]")];
  const at = rows.findIndex((row) => row === document.activeElement);
  const next = at === -1 ? (step === 1 ? 0 : rows.length - 1) : Math.min(rows.length - 1, Math.max(0, at + step));
  rows[next]?.focus();
  rows[next]?.scrollIntoView({ block: "nearest" });
}

const isOnRow = (): boolean => document.activeElement?.matches("main [data-row-link]") === true;

/** Toggles the checkbox of the row around the focused element. The focus stays, so that the next key applies to the same row. */
function chooseRow(): void {
  document.activeElement?.closest("tr, li")?.querySelector<HTMLElement>("input[type=checkbox]")?.click();
}

interface KeyActions {
  /** Open overlay or navigation in progress. Page shortcuts are off meanwhile. */
  over: string | null;
  onPalette: () => void;
  onHelp: () => void;
  onGo: (path: string) => void;
}

/** Handles the shortcuts of every page. Except Ctrl/Cmd-K, none of them acts while somebody types. */
export function useKeys({ over, onPalette, onHelp, onGo }: KeyActions): void {
  const press = useEffectEvent((event: KeyboardEvent, went: boolean): boolean => {
    if ((event.ctrlKey || event.metaKey) && event.key.toLowerCase() === "k") {
      event.preventDefault();
      onPalette();
      return false;
    }
    if (event.ctrlKey || event.metaKey || event.altKey || isTyping(event.target)) return false;
    if (over !== null || document.querySelector("[role=dialog]") !== null) return false;
    const path = GO[event.key];
    if (went && path !== undefined) {
      event.preventDefault();
      onGo(path);
      return false;
    }
    switch (event.key) {
      case "g":
        return true;
      case "?":
        onHelp();
        return false;
      case "/": {
        event.preventDefault();
        document.querySelector<HTMLElement>("[data-page-filter]")?.focus();
        return false;
      }
      case "ArrowDown":
      case "ArrowUp":
        // Elsewhere arrows scroll, or belong to the focused element.
        if (!isOnRow()) return false;
        event.preventDefault();
        walkRows(event.key === "ArrowDown" ? 1 : -1);
        return false;
      case "j":
        walkRows(1);
        return false;
      case "k":
        walkRows(-1);
        return false;
      case "x":
        chooseRow();
        return false;
      default:
        return false;
    }
  });
  useEffect(() => {
    let went = false;
    const listen = (event: KeyboardEvent): void => {
      went = press(event, went);
    };
    window.addEventListener("keydown", listen);
    return () => window.removeEventListener("keydown", listen);
  }, []);
}
