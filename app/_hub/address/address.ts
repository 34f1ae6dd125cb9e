"use client";
import { usePathname, useSearchParams } from "next/navigation";
import { useEffect } from "react";
import { createAddressChanges, type ChangeAs } from "./address-changes.ts";

/**
 * The view's state is kept in the address, so that it can be shared and survives a reload. It is written to the history of the
 * browser, which Next follows: nothing is asked of the hub, so a filter works at once however slowly the hub answers.
 */

const changes = createAddressChanges({
  read: () => ({ path: window.location.pathname, query: window.location.search.slice(1) }),
  write: (address, as) => {
    if (as === "step") window.history.pushState(null, "", address);
    else window.history.replaceState(null, "", address);
  },
});

if (typeof window !== "undefined") window.addEventListener("popstate", changes.forget);

/** The words of the address that the page is drawn with, and the one way to change them. */
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

/** One word of the view's state. What is typed, and dialogs that are no place to go back to, are `same`. */
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

/** Replaces all words of the view's state at once. */
export function useAddressWords(): (words: Record<string, string>) => void {
  const { change } = useAddress();
  return (to) =>
    change((words) => {
      // Named first: the words cannot be walked through while they are removed.
      const names = Array.from(words.keys());
      for (const name of names) words.delete(name);
      for (const [name, value] of Object.entries(to)) words.set(name, value);
    }, "step");
}
