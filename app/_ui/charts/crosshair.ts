"use client";
import { useSyncExternalStore } from "react";
import type { Axis } from "./chart-layout.ts";

/** Position of the crosshair per axis, shared by all charts of a page; null while no chart is pointed at. */
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
