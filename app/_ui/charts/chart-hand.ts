"use client";
import { useState, type ChangeEvent, type KeyboardEvent, type PointerEvent } from "react";
import type { Axis, ChartLayout } from "./chart-layout.ts";
import { nearestIndex } from "./chart-scale.ts";
import { draggedPart, zoomIn, zoomOut, type ChartPart } from "./chart-zoom.ts";
import { setCrosshair } from "./crosshair.ts";

interface Held {
  axis: Axis;
  times: readonly number[];
  from: number;
  to: number;
  layout: ChartLayout;
  /** Index of the sample under the crosshair; -1 without a crosshair. */
  index: number;
  whole?: ChartPart | null;
  onPart?: (part: ChartPart | null) => void;
  onOpen?: (index: number) => void;
}

/** Returns the pointer and key handlers of a chart (crosshair, zoom, open) and the range that a drag has selected so far. */
export function useChartHand(held: Held) {
  const { axis, times, from, to, layout, index, whole = null, onPart, onOpen } = held;
  const [chosen, setChosen] = useState<ChartPart | null>(null);
  const look = (at: number | null): void => setCrosshair(axis, at);
  const placeAt = (event: PointerEvent<HTMLElement>): number => {
    const across = event.clientX - event.currentTarget.getBoundingClientRect().left - layout.plot.left;
    return from + Math.min(1, Math.max(0, across / layout.plot.width)) * (to - from);
  };
  const nearestTo = (at: number): number | null => times[nearestIndex(times, at)] ?? null;
  const onKeyDown = (event: KeyboardEvent<HTMLElement>): void => {
    const at = times[index] ?? times.at(-1) ?? to;
    const isWider = event.key === "-";
    if (event.key === "Enter" && onOpen !== undefined && index !== -1) onOpen(index);
    else if ((event.key === "+" || event.key === "=") && onPart !== undefined) onPart(zoomIn({ from, to }, at));
    else if (isWider && onPart !== undefined && whole !== null) onPart(zoomOut({ from, to }, whole));
    else if ((event.key === "0" || event.key === "Escape") && onPart !== undefined && whole !== null) onPart(null);
    else return;
    event.preventDefault();
  };
  return {
    chosen,
    does: [
      ...(onPart === undefined ? [] : ["Drag, + and - show a part, 0 all."]),
      ...(onOpen === undefined ? [] : ["A press or Enter opens."]),
    ].join(" "),
    on: {
      onKeyDown,
      onChange: (event: ChangeEvent<HTMLInputElement>) => look(times[Number(event.target.value)] ?? null),
      onPointerDown: (event: PointerEvent<HTMLElement>) => {
        if (event.button !== 0) return;
        event.currentTarget.setPointerCapture(event.pointerId);
        const at = placeAt(event);
        setChosen({ from: at, to: at });
      },
      onPointerMove: (event: PointerEvent<HTMLElement>) => {
        const at = placeAt(event);
        look(nearestTo(at));
        if (chosen !== null && onPart !== undefined) setChosen({ ...chosen, to: at });
      },
      onPointerUp: (event: PointerEvent<HTMLElement>) => {
        if (chosen === null) return;
        setChosen(null);
        const at = placeAt(event);
        const part = draggedPart(chosen.from, at, (to - from) / layout.plot.width);
        if (part !== null) onPart?.(part);
        else if (times.length > 0) onOpen?.(nearestIndex(times, at));
      },
      onPointerCancel: () => setChosen(null),
      onPointerLeave: () => look(null),
      onBlur: () => look(null),
    },
  };
}
