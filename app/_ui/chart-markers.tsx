import type { Tone } from "./mark.tsx";

/** Something that happened at a moment: a dotted line with a few words. */
export interface ChartMarker {
  at: number;
  label: string;
  tone: Exclude<Tone, "quiet">;
}

const STROKE = { safe: "stroke-safe", moving: "stroke-moving", risk: "stroke-risk", lost: "stroke-lost" };
const FILL = { safe: "fill-safe", moving: "fill-moving", risk: "fill-risk", lost: "fill-lost" };
const TOP = 8;
const LINE = 14;
/** About the width of one letter at 11 px. */
const LETTER = 6;

interface ChartMarkersProps {
  markers: readonly ChartMarker[];
  x: (at: number) => number;
  plot: { left: number; width: number; floor: number };
}

/** Words that would overlap others are left out; the line stays, and the list of events has the sentence. */
export function ChartMarkers({ markers, x, plot }: ChartMarkersProps) {
  const taken: { from: number; to: number }[] = [];
  const lines = markers.map((marker) => x(marker.at));
  return [...markers]
    .sort((a, b) => b.at - a.at)
    .map((marker) => {
      const at = x(marker.at);
      const width = marker.label.length * LETTER;
      const left = at + 6 + width > plot.left + plot.width;
      const words = left ? { from: at - 6 - width, to: at - 6 } : { from: at + 6, to: at + 6 + width };
      const fits =
        words.from > plot.left &&
        plot.width > 420 &&
        !lines.some((line) => line > words.from - 3 && line < words.to + 3) &&
        !taken.some((other) => words.from < other.to + 8 && words.to > other.from - 8);
      if (fits) taken.push(words);
      return (
        <g key={`${marker.at}${marker.label}`}>
          <path d={`M${at} ${TOP}V${plot.floor}`} className={STROKE[marker.tone]} strokeDasharray="2 3">
            <title>{marker.label}</title>
          </path>
          {fits && (
            <text
              x={left ? words.to : words.from}
              y={LINE}
              textAnchor={left ? "end" : "start"}
              className={FILL[marker.tone]}
            >
              {marker.label}
            </text>
          )}
        </g>
      );
    });
}
