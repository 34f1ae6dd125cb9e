"use client";
import { useSyncExternalStore } from "react";
import type { Axis } from "./chart-layout.ts";

/** The place that is looked at, one for all charts of a page with the same axis. Null while none is. */
const places: Record<Axis, number | null> = { time: null, steps: null };
const listeners = new Set<() => void>();

export function setCrosshair(axis: Axis, at: number | null): void {
  if (places[axis] === at) return;
  places[axis] = at;
  for (const listener of listeners) listener();
}

function subscribe(listener: () => void): () => void {
  listeners.add(listener);
  return () => listeners.delete(listener);
}

export const useCrosshair = (axis: Axis): number | null =>
  useSyncExternalStore(
    subscribe,
    () => places[axis],
    () => null,
  );
