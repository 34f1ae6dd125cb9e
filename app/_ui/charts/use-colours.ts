"use client";
import { useSyncExternalStore } from "react";

let dark: MediaQueryList | null = null;
/** Returns the media query for the dark theme; cached, because `matchMedia` takes longer than drawing a chart. */
const prefersDark = (): MediaQueryList => (dark ??= matchMedia("(prefers-color-scheme: dark)"));

function subscribe(listener: () => void): () => void {
  const chosen = new MutationObserver(listener);
  prefersDark().addEventListener("change", listener);
  chosen.observe(document.documentElement, { attributeFilter: ["data-theme"] });
  return () => {
    prefersDark().removeEventListener("change", listener);
    chosen.disconnect();
  };
}

/** Returns a key that changes with the color theme, so that a component that paints on a canvas can paint again. */
export const useColours = (): string =>
  useSyncExternalStore(
    subscribe,
    () => `${document.documentElement.dataset["theme"] ?? ""} ${String(prefersDark().matches)}`,
    () => "",
  );
