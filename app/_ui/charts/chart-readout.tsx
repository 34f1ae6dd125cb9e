import { formatCount } from "#protocol/base/units.ts";
import type { Axis, Series } from "./chart-layout.ts";
import { classNames } from "../rendering/class-names.ts";
import { Mark } from "../indicators/mark.tsx";
import type { ChartMarker } from "./place-markers.ts";
import { clockSeconds } from "../text/times.ts";

/** Formats a position on the axis: the time to the second, or the step. */
export const placeWords = (axis: Axis, at: number): string =>
  axis === "time" ? clockSeconds(at) : `step ${formatCount(at)}`;

interface ReadoutProps {
  axis: Axis;
  series: readonly Series[];
  index: number;
  at: number;
  /** Markers close to the crosshair. */
  markers: readonly ChartMarker[];
  side: "left" | "right";
}

/** Shows the values under the crosshair on the side of the plot that the crosshair is not on. */
export function ChartReadout({ axis, series, index, at, markers, side }: ReadoutProps) {
  return (
    <div
      className={classNames(
        "nums pointer-events-none absolute top-3 rounded-md border border-line bg-panel px-2.5 py-1.5 text-12 shadow-lift",
        side === "left" ? "left-3" : "right-[72px]",
      )}
    >
      <div className="text-faint">{placeWords(axis, at)}</div>
      {series.map((one) => {
        const value = one.values[index] ?? null;
        return (
          value !== null && (
            <div key={one.key} className="flex items-center gap-2">
              <Mark tone={one.tone} />
              <span className="text-soft">{one.label}</span>
              <span className="ml-auto pl-4 font-mid">{one.format(value)}</span>
            </div>
          )
        );
      })}
      {markers.map((marker) => (
        <div key={`${marker.at} ${marker.label}`} className="flex items-center gap-2 text-soft">
          <Mark tone={marker.tone} />
          {marker.label}
        </div>
      ))}
    </div>
  );
}
