"use client";
import { useId, useRef, useState, type PointerEvent } from "react";
import {
  brokenArea,
  brokenPath,
  CHART_HEIGHT,
  nearestIndex,
  tickWords,
  ticksFor,
  timeTicks,
  type Point,
} from "./chart-scale.ts";
import { ChartMarkers, type ChartMarker } from "./chart-markers.tsx";
import { ChartReadout, ChartTable } from "./chart-readout.tsx";
import { classNames } from "./class-names.ts";
import type { Tone } from "./mark.tsx";
import { clockTime } from "./times.ts";
import { useWidth } from "./use-width.ts";

export interface Series {
  key: string;
  label: string;
  tone: Exclude<Tone, "quiet">;
  values: readonly number[];
  format: (value: number) => string;
  /** Series with the same scale share one axis; the first is labelled at the right, the second inside at the left. */
  scale: { name: string; base: 10 | 1024 };
  fill?: "area" | "line";
}

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

const STROKE = { safe: "stroke-safe", moving: "stroke-moving", risk: "stroke-risk", lost: "stroke-lost" };
const FILL = { safe: "fill-safe", moving: "fill-moving", risk: "fill-risk", lost: "fill-lost" };
const TOP = 16;
const BOTTOM = 24;
/** Room for the labels at the right; on narrow screens they stand inside. */
const SIDE = 60;
const NARROW = 480;

function valueWords(series: readonly Series[], times: readonly number[], index: number): string {
  const at = times[index];
  if (at === undefined) return "no samples yet";
  return [clockTime(at), ...series.map((one) => `${one.label} ${one.format(one.values[index] ?? 0)}`)].join(", ");
}

/** Lines over time with a crosshair for pointer and arrow keys, and the same numbers as a table for those who read. */
export function Chart({
  label,
  times,
  series,
  from,
  to,
  markers = [],
  height = CHART_HEIGHT,
  breakAfterMs,
}: ChartProps) {
  const frame = useRef<HTMLDivElement>(null);
  const note = useId();
  const width = useWidth(frame);
  const [cursor, setCursor] = useState<number | null>(null);

  const scales = [...new Map(series.map((one) => [one.scale.name, one.scale])).values()].slice(0, 2).map((scale) => {
    const own = series.filter((one) => one.scale.name === scale.name);
    const largest = own.reduce((top, one) => one.values.reduce((high, value) => Math.max(high, value), top), 0);
    return {
      ...scale,
      ticks: ticksFor(largest, scale.base),
      format: own[0]?.format ?? String,
      empty: largest <= 0,
      look: own.length === 1 && own[0] !== undefined ? FILL[own[0].tone] : "fill-faint",
    };
  });
  const left = 1;
  const right = width > NARROW ? SIDE : 1;
  const plot = { width: Math.max(1, width - left - right), floor: height - BOTTOM };
  const x = (at: number): number => left + ((at - from) / Math.max(1, to - from)) * plot.width;
  const y = (value: number, scale: string): number => {
    const top = scales.find((one) => one.name === scale)?.ticks.at(-1) ?? 1;
    return plot.floor - (Math.max(0, value) / top) * (plot.floor - TOP);
  };
  const gap =
    breakAfterMs === undefined
      ? Math.max(12, (plot.width / Math.max(1, times.length)) * 4)
      : (breakAfterMs / Math.max(1, to - from)) * plot.width;
  const pointsOf = (one: Series): Point[] =>
    times.map((at, index) => ({ x: x(at), y: y(one.values[index] ?? 0, one.scale.name) }));

  const point = (event: PointerEvent<HTMLElement>): void => {
    const box = event.currentTarget.getBoundingClientRect();
    const at = from + ((event.clientX - box.left - left) / plot.width) * (to - from);
    const index = nearestIndex(times, at);
    setCursor(index === -1 ? null : index);
  };
  const cursorAt = cursor === null ? undefined : times[cursor];

  return (
    <div ref={frame} className="relative min-w-0">
      <input
        type="range"
        aria-label={label}
        aria-describedby={note}
        aria-valuetext={valueWords(series, times, cursor ?? times.length - 1)}
        min={0}
        max={Math.max(0, times.length - 1)}
        value={cursor ?? Math.max(0, times.length - 1)}
        onChange={(event) => setCursor(Number(event.target.value))}
        onPointerMove={point}
        onPointerLeave={() => setCursor(null)}
        onBlur={() => setCursor(null)}
        className="peer absolute inset-0 z-[1] size-full cursor-crosshair touch-pan-y opacity-0"
      />
      <svg
        aria-hidden
        height={height}
        width="100%"
        className="nums block rounded-1 text-11 outline-offset-2 outline-accent peer-focus-visible:outline-2"
      >
        {width > 0 && (
          <>
            {scales[0]?.ticks.map((tick) => (
              <path
                key={tick}
                d={`M${left} ${y(tick, scales[0]?.name ?? "")}H${left + plot.width}`}
                className="stroke-line"
              />
            ))}
            {timeTicks(from, to, Math.max(2, Math.floor(plot.width / 110))).map((at) => (
              <text
                key={at}
                x={x(at)}
                y={height - 6}
                textAnchor={x(at) < left + 20 ? "start" : x(at) > width - 20 ? "end" : "middle"}
                className="fill-faint"
              >
                {tickWords(at, to - from)}
              </text>
            ))}
            {series.map((one) => (
              <g key={one.key}>
                {one.fill === "area" && (
                  <path d={brokenArea(pointsOf(one), gap, plot.floor)} className={FILL[one.tone]} fillOpacity=".16" />
                )}
                <path
                  d={brokenPath(pointsOf(one), gap)}
                  className={STROKE[one.tone]}
                  fill="none"
                  strokeWidth="1.5"
                  strokeLinejoin="round"
                  strokeLinecap="round"
                />
              </g>
            ))}
            {scales.map((scale, order) =>
              scale.ticks.map((tick, index) => {
                if (tick === 0 ? order > 0 || right < SIDE : scale.empty) return null;
                const outside = order === 0 && right === SIDE;
                return (
                  <text
                    key={`${scale.name}${index}`}
                    x={outside ? left + plot.width + 8 : order === 0 ? width - 2 : left + 2}
                    y={y(tick, scale.name) + (outside ? 4 : -4)}
                    textAnchor={outside || order > 0 ? "start" : "end"}
                    className={classNames(scales.length > 1 ? scale.look : "fill-faint", "stroke-panel")}
                    strokeWidth="3"
                    paintOrder="stroke"
                  >
                    {tick === 0 ? "0" : scale.format(tick).replace(".0 ", " ")}
                  </text>
                );
              }),
            )}
            <ChartMarkers
              markers={markers.filter((marker) => marker.at >= from && marker.at <= to)}
              x={x}
              plot={{ left, ...plot }}
            />
            {cursor !== null && cursorAt !== undefined && (
              <g>
                <path d={`M${x(cursorAt)} ${TOP}V${plot.floor}`} className="stroke-edge" />
                {series.map((one) => (
                  <circle
                    key={one.key}
                    cx={x(cursorAt)}
                    cy={y(one.values[cursor] ?? 0, one.scale.name)}
                    r="3"
                    className={FILL[one.tone]}
                  />
                ))}
              </g>
            )}
          </>
        )}
      </svg>
      {cursor !== null && cursorAt !== undefined && (
        <ChartReadout series={series} index={cursor} at={cursorAt} side={x(cursorAt) > width / 2 ? "left" : "right"} />
      )}
      <ChartTable id={note} label={label} times={times} series={series} />
    </div>
  );
}
