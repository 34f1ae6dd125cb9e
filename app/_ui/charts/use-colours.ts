"use client";
import { useSyncExternalStore } from "react";

let dark: MediaQueryList | null = null;
/** Kept: asking for one costs more than the rest of a drawing. */
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

/** Changes when the colours of the page do: whoever paints with them paints again. */
export const useColours = (): string =>
  useSyncExternalStore(
    subscribe,
    () => `${document.documentElement.dataset["theme"] ?? ""} ${String(prefersDark().matches)}`,
    () => "",
  );
