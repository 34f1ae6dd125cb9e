"use client";
import { useSyncExternalStore } from "react";

/** Choices that this browser keeps for itself, in all of its tabs alike. Nothing secret, and nothing that others should see. */

const listeners = new Set<() => void>();

function subscribe(listener: () => void): () => void {
  listeners.add(listener);
  window.addEventListener("storage", listener);
  return () => {
    listeners.delete(listener);
    window.removeEventListener("storage", listener);
  };
}

/** A browser may forbid it: then nothing is kept, and nothing fails. */
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

/** From what is kept now, which may be another tab's: for what happens later than the press that led to it. */
export const changeKeptText = (name: string, change: (text: string | null) => string | null): void =>
  write(name, change(read(name)));

/** One text by its name, and how to keep another; null where none is kept. Whoever reads it must expect any text. */
export function useKeptText(name: string): [string | null, (text: string | null) => void] {
  const text = useSyncExternalStore(
    subscribe,
    () => read(name),
    () => null,
  );
  return [text, (next) => write(name, next)];
}
