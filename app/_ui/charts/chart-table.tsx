import type { Axis, Series } from "./chart-layout.ts";
import { placeWords } from "./chart-readout.tsx";

const MOST = 24;

interface ChartTableProps {
  axis?: Axis;
  label: string;
  times: readonly number[];
  series: readonly Series[];
}

function valueWord(one: Series, index: number): string {
  const value = one.values[index] ?? null;
  return value === null ? "–" : one.format(value);
}

/** Shows the samples of a chart as a table, newest first: at most 24 evenly spaced samples, always including the newest. */
export function ChartTable({ axis = "time", label, times, series }: ChartTableProps) {
  const step = Math.max(1, Math.ceil(times.length / MOST));
  const last = times.length - 1;
  const rows = times.map((at, index) => ({ at, index })).filter(({ index }) => (last - index) % step === 0);
  if (rows.length === 0) return <p className="py-2 text-soft">No samples yet.</p>;
  return (
    <table className="nums w-full text-12">
      <caption className="sr-only">{label}</caption>
      <thead className="text-faint">
        <tr>
          <th scope="col" className="py-1 text-left font-normal">
            {axis === "time" ? "Time" : "Step"}
          </th>
          {series.map((one) => (
            <th key={one.key} scope="col" className="py-1 pl-4 text-right font-normal">
              {one.label}
            </th>
          ))}
        </tr>
      </thead>
      <tbody>
        {rows.toReversed().map(({ at, index }) => (
          <tr key={at} className="border-t border-line">
            <th scope="row" className="py-1 text-left font-normal text-soft">
              {placeWords(axis, at)}
            </th>
            {series.map((one) => (
              <td key={one.key} className="py-1 pl-4 text-right">
                {valueWord(one, index)}
              </td>
            ))}
          </tr>
        ))}
      </tbody>
    </table>
  );
}
