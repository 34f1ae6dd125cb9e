import type { ChartLayout } from "./chart-layout.ts";
import type { Tone } from "../indicators/mark.tsx";

/** An event on the time axis, drawn as a dotted line with a few words. */
export interface ChartMarker {
  at: number;
  label: string;
  tone: Exclude<Tone, "quiet">;
}

export interface PlacedMarker {
  marker: ChartMarker;
  x: number;
  /** Position and alignment of the label; null when there is no room for it. */
  words: { x: number; align: "start" | "end" } | null;
}

/** Approximate width of one letter at 11 px. */
const LETTER = 6;
/** Plots up to this width, in pixels, show markers without labels. */
const LEAST_WIDTH = 420;

/** Places markers, newest first. A label that would overlap another label or a line is left out; its line stays. */
export function placeMarkers(
  markers: readonly ChartMarker[],
  { x, plot }: Pick<ChartLayout, "x" | "plot">,
): PlacedMarker[] {
  const taken: { from: number; to: number }[] = [];
  const lines = markers.map((marker) => x(marker.at));
  return markers
    .toSorted((a, b) => b.at - a.at)
    .map((marker) => {
      const at = x(marker.at);
      const width = marker.label.length * LETTER;
      const isLeft = at + 6 + width > plot.left + plot.width;
      const words = isLeft ? { from: at - 6 - width, to: at - 6 } : { from: at + 6, to: at + 6 + width };
      const fits =
        words.from > plot.left &&
        plot.width > LEAST_WIDTH &&
        !lines.some((line) => line > words.from - 3 && line < words.to + 3) &&
        !taken.some((other) => words.from < other.to + 8 && words.to > other.from - 8);
      if (fits) taken.push(words);
      const placed = isLeft ? { x: words.to, align: "end" as const } : { x: words.from, align: "start" as const };
      return { marker, x: at, words: fits ? placed : null };
    });
}
