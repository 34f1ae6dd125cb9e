"use client";
import { useSyncExternalStore } from "react";

/** Keeps preferences in localStorage, shared by all tabs of this browser and never sent to the hub. They hold no secrets. */

const listeners = new Set<() => void>();

function subscribe(listener: () => void): () => void {
  listeners.add(listener);
  window.addEventListener("storage", listener);
  return () => {
    listeners.delete(listener);
    window.removeEventListener("storage", listener);
  };
}

/** Browsers may block localStorage: then nothing is kept, and nothing fails. */
function read(name: string): string | null {
  try {
    return localStorage.getItem(name);
  } catch {
    return null;
  }
}

function write(name: string, text: string | null): void {
  try {
    if (text === null) localStorage.removeItem(name);
    else localStorage.setItem(name, text);
  } catch {
    return;
  }
  for (const listener of listeners) listener();
}

/** Changes a text based on its stored value, which another tab may have written. For changes that happen after the render. */
export const changeKeptText = (name: string, change: (text: string | null) => string | null): void =>
  write(name, change(read(name)));

/** Returns a stored text by its name, null where none is stored, and its setter. Readers must validate it: it can be any text. */
export function useKeptText(name: string): [string | null, (text: string | null) => void] {
  const text = useSyncExternalStore(
    subscribe,
    () => read(name),
    () => null,
  );
  return [text, (next) => write(name, next)];
}
