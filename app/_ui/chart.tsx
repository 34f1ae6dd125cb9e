"use client";
import { ChartLine, Table2 } from "lucide-react";
import { useLayoutEffect, useRef, useState, type PointerEvent } from "react";
import { IconButton } from "./button.tsx";
import { layOutChart, type ChartLayout, type Series } from "./chart-layout.ts";
import { ChartReadout } from "./chart-readout.tsx";
import { CHART_HEIGHT, nearestIndex } from "./chart-scale.ts";
import { ChartTable } from "./chart-table.tsx";
import { drawChart } from "./draw-chart.ts";
import type { ChartMarker } from "./place-markers.ts";
import { clockTime } from "./times.ts";
import { useColours } from "./use-colours.ts";
import { useWidth } from "./use-width.ts";

export interface ChartProps {
  label: string;
  times: readonly number[];
  series: readonly Series[];
  from: number;
  to: number;
  markers?: readonly ChartMarker[];
  height?: number;
  /** A line breaks where nothing was measured for so long; without it, where the points stand unusually far apart. */
  breakAfterMs?: number;
}

/** Lines over time, with a crosshair for pointer and arrow keys; or the same numbers as a table. */
export function Chart({ height = CHART_HEIGHT, ...props }: ChartProps) {
  const [isTable, setTable] = useState(false);
  const colours = useColours();
  return (
    <div className="relative min-w-0">
      {isTable ? <ChartTable {...props} /> : <ChartLines key={colours} {...props} height={height} />}
      <div className="absolute -right-1 -bottom-1 z-[2]">
        <IconButton
          label={isTable ? "Show as lines" : "Show as a table"}
          aria-description={props.label}
          size="small"
          onClick={() => setTable(!isTable)}
        >
          {isTable ? (
            <ChartLine size={14} strokeWidth={1.6} aria-hidden />
          ) : (
            <Table2 size={14} strokeWidth={1.6} aria-hidden />
          )}
        </IconButton>
      </div>
    </div>
  );
}

function valueWords(series: readonly Series[], times: readonly number[], index: number): string {
  const at = times[index];
  if (at === undefined) return "no samples yet";
  return [clockTime(at), ...series.map((one) => `${one.label} ${one.format(one.values[index] ?? 0)}`)].join(", ");
}

/** Markers so near to the crosshair, in pixels, are told with it. */
const NEAR = 6;
const NO_MARKERS: readonly ChartMarker[] = [];

function ChartLines({
  label,
  times,
  series,
  from,
  to,
  markers = NO_MARKERS,
  height,
  breakAfterMs,
}: ChartProps & { height: number }) {
  const frame = useRef<HTMLDivElement>(null);
  const canvas = useRef<HTMLCanvasElement>(null);
  const width = useWidth(frame);
  const [index, setIndex] = useState<number | null>(null);
  const layout = layOutChart({ times, series, from, to, width, height, breakAfterMs });
  const at = index === null ? undefined : times[index];
  const shown = markers.filter((marker) => marker.at >= from && marker.at <= to);

  useLayoutEffect(() => {
    if (canvas.current === null || width === 0) return;
    const cursor = index === null || at === undefined ? null : { at, index };
    drawChart(canvas.current, { layout, series, markers: shown, cursor });
  }, [layout, series, shown, index, at, width]);

  const point = (event: PointerEvent<HTMLElement>): void => {
    const box = event.currentTarget.getBoundingClientRect();
    const nearest = nearestIndex(times, timeAt(layout, { from, to, x: event.clientX - box.left }));
    setIndex(nearest === -1 ? null : nearest);
  };

  return (
    <div ref={frame} className="relative">
      <input
        type="range"
        aria-label={label}
        aria-valuetext={valueWords(series, times, index ?? times.length - 1)}
        min={0}
        max={Math.max(0, times.length - 1)}
        value={index ?? Math.max(0, times.length - 1)}
        onChange={(event) => setIndex(Number(event.target.value))}
        onPointerMove={point}
        onPointerLeave={() => setIndex(null)}
        onBlur={() => setIndex(null)}
        className="peer absolute inset-0 z-[1] size-full cursor-crosshair touch-pan-y opacity-0"
      />
      <canvas
        ref={canvas}
        aria-hidden
        style={{ height }}
        className="block w-full rounded-1 outline-offset-2 outline-accent peer-focus-visible:outline-2"
      />
      {index !== null && at !== undefined && (
        <ChartReadout
          series={series}
          index={index}
          at={at}
          markers={shown.filter((marker) => Math.abs(layout.x(marker.at) - layout.x(at)) <= NEAR)}
          side={layout.x(at) > width / 2 ? "left" : "right"}
        />
      )}
    </div>
  );
}

const timeAt = ({ plot }: ChartLayout, { from, to, x }: { from: number; to: number; x: number }): number =>
  from + ((x - plot.left) / plot.width) * (to - from);
