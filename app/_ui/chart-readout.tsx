import type { Series } from "./chart-layout.ts";
import { classNames } from "./class-names.ts";
import { Mark } from "./mark.tsx";
import type { ChartMarker } from "./place-markers.ts";
import { clockSeconds } from "./times.ts";

interface ReadoutProps {
  series: readonly Series[];
  index: number;
  at: number;
  /** What happened about then. */
  markers: readonly ChartMarker[];
  side: "left" | "right";
}

/** The numbers under the crosshair, on the side where they hide nothing. */
export function ChartReadout({ series, index, at, markers, side }: ReadoutProps) {
  return (
    <div
      className={classNames(
        "nums pointer-events-none absolute top-3 rounded-md border border-line bg-panel px-2.5 py-1.5 text-12 shadow-lift",
        side === "left" ? "left-3" : "right-[72px]",
      )}
    >
      <div className="text-faint">{clockSeconds(at)}</div>
      {series.map((one) => (
        <div key={one.key} className="flex items-center gap-2">
          <Mark tone={one.tone} />
          <span className="text-soft">{one.label}</span>
          <span className="ml-auto pl-4 font-mid">{one.format(one.values[index] ?? 0)}</span>
        </div>
      ))}
      {markers.map((marker) => (
        <div key={`${marker.at} ${marker.label}`} className="flex items-center gap-2 text-soft">
          <Mark tone={marker.tone} />
          {marker.label}
        </div>
      ))}
    </div>
  );
}
