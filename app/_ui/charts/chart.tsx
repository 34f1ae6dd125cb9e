"use client";
import { ChartLine, Table2 } from "lucide-react";
import { useId, useLayoutEffect, useRef, useState } from "react";
import { Button, IconButton } from "../controls/button.tsx";
import { useChartHand } from "./chart-hand.ts";
import { layOutChart, type Axis, type Series } from "./chart-layout.ts";
import { ChartReadout, placeWords } from "./chart-readout.tsx";
import { CHART_HEIGHT, nearestIndex } from "./chart-scale.ts";
import { ChartTable } from "./chart-table.tsx";
import type { ChartPart } from "./chart-zoom.ts";
import { useCrosshair } from "./crosshair.ts";
import { drawChart } from "./draw-chart.ts";
import type { ChartMarker } from "./place-markers.ts";
import { clockTime } from "../text/times.ts";
import { useColours } from "./use-colours.ts";
import { useWidth } from "../rendering/use-width.ts";

export interface ChartProps {
  label: string;
  /** Default: time. */
  axis?: Axis;
  times: readonly number[];
  series: readonly Series[];
  from: number;
  to: number;
  markers?: readonly ChartMarker[];
  height?: number;
  /** Longest gap between samples that a line bridges. Default: derived from the average distance of the samples. */
  breakAfterMs?: number;
  /** Receives the selected range, which the caller then passes as `from` and `to`; null resets it. Without it zooming is off. */
  onPart?: (part: ChartPart | null) => void;
  /** The whole range while a part is shown; null while everything is shown. */
  whole?: ChartPart | null;
  /** Called with the index of the sample that was clicked or opened with Enter. */
  onOpen?: (index: number) => void;
}

/**
 * Shows lines over time or steps, or the same numbers as a table. All charts of a page share one crosshair, moved by pointer
 * or arrow keys. A drag zooms in; with the focus, + and - zoom, 0 or Escape resets, and Enter opens.
 */
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

function valueWords({ axis = "time", series, times }: ChartProps, index: number): string {
  const at = times[index];
  if (at === undefined) return "no samples yet";
  const values = series.flatMap((one) => {
    const value = one.values[index] ?? null;
    return value === null ? [] : [`${one.label} ${one.format(value)}`];
  });
  return [axis === "time" ? clockTime(at) : placeWords(axis, at), ...values].join(", ");
}

/** Markers within this many pixels of the crosshair are listed in the readout. */
const NEAR = 6;
const NO_MARKERS: readonly ChartMarker[] = [];

function ChartLines(props: ChartProps & { height: number }) {
  const { label, axis = "time", times, series, from, to, markers = NO_MARKERS, height, breakAfterMs } = props;
  const frame = useRef<HTMLDivElement>(null);
  const canvas = useRef<HTMLCanvasElement>(null);
  const width = useWidth(frame);
  const layout = layOutChart({ axis, times, series, from, to, width, height, breakAfterMs });
  const crosshair = useCrosshair(axis);
  const index = crosshair === null || crosshair < from || crosshair > to ? -1 : nearestIndex(times, crosshair);
  const at = times[index];
  const shown = markers.filter((marker) => marker.at >= from && marker.at <= to);
  const hand = useChartHand({ ...props, axis, layout, index });
  const { chosen } = hand;
  const does = useId();

  useLayoutEffect(() => {
    if (canvas.current === null || width === 0) return;
    const cursor = at === undefined ? null : { at, index };
    drawChart(canvas.current, { layout, series, markers: shown, cursor, chosen });
  }, [layout, series, shown, index, at, width, chosen]);

  return (
    <div ref={frame} className="relative">
      <input
        type="range"
        aria-label={label}
        aria-valuetext={valueWords(props, index === -1 ? times.length - 1 : index)}
        aria-describedby={hand.does === "" ? undefined : does}
        min={0}
        max={Math.max(0, times.length - 1)}
        value={index === -1 ? Math.max(0, times.length - 1) : index}
        {...hand.on}
        className="peer absolute inset-0 z-[1] size-full cursor-crosshair touch-pan-y opacity-0"
      />
      {hand.does !== "" && (
        <span id={does} hidden>
          {hand.does}
        </span>
      )}
      <canvas
        ref={canvas}
        aria-hidden
        style={{ height }}
        className="block w-full rounded-1 outline-offset-2 outline-accent peer-focus-visible:outline-2"
      />
      {at !== undefined && (
        <ChartReadout
          axis={axis}
          series={series}
          index={index}
          at={at}
          markers={shown.filter((marker) => Math.abs(layout.x(marker.at) - layout.x(at)) <= NEAR)}
          side={layout.x(at) > width / 2 ? "left" : "right"}
        />
      )}
      {props.whole != null && (
        <span className="absolute top-0 left-1 z-[2]">
          <Button size="small" onClick={() => props.onPart?.(null)}>
            Show all
          </Button>
        </span>
      )}
    </div>
  );
}
