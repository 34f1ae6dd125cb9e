"use client";
import { useSyncExternalStore } from "react";

const DARK = "(prefers-color-scheme: dark)";

function subscribe(listener: () => void): () => void {
  const dark = matchMedia(DARK);
  const chosen = new MutationObserver(listener);
  dark.addEventListener("change", listener);
  chosen.observe(document.documentElement, { attributeFilter: ["data-theme"] });
  return () => {
    dark.removeEventListener("change", listener);
    chosen.disconnect();
  };
}

/** Changes when the colours of the page do: whoever paints with them paints again. */
export const useColours = (): string =>
  useSyncExternalStore(
    subscribe,
    () => `${document.documentElement.dataset["theme"] ?? ""} ${String(matchMedia(DARK).matches)}`,
    () => "",
  );
