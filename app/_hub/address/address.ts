"use client";
import { usePathname, useSearchParams } from "next/navigation";
import { useEffect } from "react";
import { createAddressChanges, type ChangeAs } from "./address-changes.ts";

/**
 * Keeps the view state in the address, so that it can be shared and survives a reload. Changes use the History API, which Next
 * observes. They send no request to the hub, so a filter works at once however slow the hub is.
 */

const changes = createAddressChanges({
  read: () => ({ path: window.location.pathname, query: window.location.search.slice(1) }),
  write: (address, as) => {
    if (as === "step") window.history.pushState(null, "", address);
    else window.history.replaceState(null, "", address);
  },
});

if (typeof window !== "undefined") window.addEventListener("popstate", changes.forget);

/** Returns the path and query with which the page is rendered, and the only function that changes the query. */
export function useAddress(): {
  path: string;
  params: URLSearchParams;
  change: (edit: (words: URLSearchParams) => void, as: ChangeAs) => void;
} {
  const params = useSearchParams();
  const path = usePathname();
  const query = params.toString();
  useEffect(() => changes.show(path, query), [path, query]);
  return { path, params, change: (edit, as) => changes.change(path, edit, as) };
}

/**
 * Returns one query parameter of the view state and its setter. Use `same` for typed text and for dialogs, which need no
 * history entry.
 */
export function useAddressWord(
  name: string,
  fallback: string,
  as: ChangeAs = "step",
): [string, (value: string) => void] {
  const { params, change } = useAddress();
  const set = (value: string): void =>
    change((words) => {
      if (value === fallback) words.delete(name);
      else words.set(name, value);
    }, as);
  return [params.get(name) ?? fallback, set];
}

/** Returns a function that replaces all query parameters of the view state at once. */
export function useAddressWords(): (words: Record<string, string>) => void {
  const { change } = useAddress();
  return (to) =>
    change((words) => {
      // Copied first, because deleting during the iteration would skip keys.
      const names = Array.from(words.keys());
      for (const name of names) words.delete(name);
      for (const [name, value] of Object.entries(to)) words.set(name, value);
    }, "step");
}
