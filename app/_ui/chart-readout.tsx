import type { Series } from "./chart.tsx";
import { classNames } from "./class-names.ts";
import { Mark } from "./mark.tsx";
import { clockSeconds } from "./times.ts";

interface ReadoutProps {
  series: readonly Series[];
  index: number;
  at: number;
  side: "left" | "right";
}

/** The numbers under the crosshair, on the side where they hide nothing. */
export function ChartReadout({ series, index, at, side }: ReadoutProps) {
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
    </div>
  );
}

const ROWS = 24;

interface ChartTableProps {
  id: string;
  label: string;
  times: readonly number[];
  series: readonly Series[];
}

/** The chart for those who do not see it: at most 24 evenly spread samples. */
export function ChartTable({ id, label, times, series }: ChartTableProps) {
  const step = Math.max(1, Math.ceil(times.length / ROWS));
  return (
    <div id={id} className="sr-only">
      <table>
        <caption>{label}</caption>
        <thead>
          <tr>
            <th scope="col">Time</th>
            {series.map((one) => (
              <th key={one.key} scope="col">
                {one.label}
              </th>
            ))}
          </tr>
        </thead>
        <tbody>
          {times.map((at, index) =>
            (times.length - 1 - index) % step === 0 ? (
              <tr key={at}>
                <th scope="row">{clockSeconds(at)}</th>
                {series.map((one) => (
                  <td key={one.key}>{one.format(one.values[index] ?? 0)}</td>
                ))}
              </tr>
            ) : null,
          )}
        </tbody>
      </table>
    </div>
  );
}
