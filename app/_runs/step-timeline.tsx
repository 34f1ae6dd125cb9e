"use client";
import { stepWords } from "#protocol/checkpoint/step-words.ts";
import { useGo } from "../_ui/navigation/going.tsx";
import { useRef } from "react";
import { formatCount } from "#protocol/base/units.ts";
import type { EpochView } from "#protocol/checkpoint/lineage.ts";
import type { CheckpointRow } from "#protocol/wire/views.ts";
import { MarkShape } from "../_ui/indicators/mark.tsx";
import { useWidth } from "../_ui/rendering/use-width.ts";
import { visibleText } from "../_ui/text/visible-text.ts";
import { stepLanes, type StepLane } from "./step-lanes.ts";

interface StepTimelineProps {
  epochs: readonly EpochView[];
  checkpoints: readonly CheckpointRow[];
  /** Whether the writing node reports. */
  writer: "heard" | "unheard";
}

const LANE = 38;
const TOP = 26;
const SIDE = 14;
/** Smallest distance between marks, in pixels, so that neighbors can be told apart. */
const ROOM = 16;

/** Shows steps from left to right, one lane per epoch. Each mark links to its checkpoint. */
export function StepTimeline({ epochs, checkpoints, writer }: StepTimelineProps) {
  const go = useGo();
  const frame = useRef<HTMLElement>(null);
  const width = useWidth(frame);
  const shown = stepLanes({ epochs, checkpoints, writer, most: Math.max(8, Math.floor((width - 2 * SIDE) / ROOM)) });
  const x = (step: number): number =>
    shown.last === shown.first
      ? SIDE
      : SIDE + ((Math.max(step, shown.first) - shown.first) / (shown.last - shown.first)) * (width - 2 * SIDE - 10);
  const y = (lane: number): number => TOP + lane * LANE;
  const laneOf = (epoch: number): number => shown.lanes.findIndex((lane) => lane.epoch === epoch);
  const height = TOP + Math.max(1, shown.lanes.length) * LANE - 12;
  return (
    <section ref={frame} aria-label="Steps by epoch" className="min-w-0" style={{ minHeight: height }}>
      {width > 0 && (
        <svg width="100%" height={height} className="nums block text-11">
          {shown.lanes.map((lane, index) => (
            <g key={lane.epoch}>
              <LanePath
                lane={lane}
                index={index}
                x={x}
                y={y}
                from={lane.from === null ? -1 : laneOf(lane.from.epoch)}
              />
              <LaneLabel lane={lane} x={x} y={y(index)} width={width} />
              {lane.marks.map((mark) => (
                <a
                  key={mark.id}
                  href={`/checkpoints/${encodeURIComponent(mark.id)}`}
                  aria-label={`${stepWords(mark.step)}, ${mark.word}`}
                  className="outline-offset-2"
                  onClick={(event) => {
                    if (event.metaKey || event.ctrlKey || event.shiftKey) return;
                    event.preventDefault();
                    go?.(`/checkpoints/${encodeURIComponent(mark.id)}`);
                  }}
                >
                  <title>{`${stepWords(mark.step)}, ${mark.word}`}</title>
                  <g transform={`translate(${x(mark.step).toFixed(1)},${y(index) - 5})`}>
                    <rect x="-3" y="-5" width="16" height="20" fill="transparent" />
                    <MarkShape tone={mark.tone} />
                  </g>
                </a>
              ))}
            </g>
          ))}
        </svg>
      )}
      <p className="nums text-12 text-faint">
        {shown.omitted > 0 && `${formatCount(shown.omitted)} older steps are not marked here. `}
        {shown.lostMarks > 0 && (
          <span className="text-lost">
            {formatCount(shown.lostMarks)} captured {shown.lostMarks === 1 ? "checkpoint was" : "checkpoints were"} lost
            with an interrupted node.
          </span>
        )}
      </p>
    </section>
  );
}

interface LanePathProps {
  lane: StepLane;
  index: number;
  from: number;
  x: (step: number) => number;
  y: (lane: number) => number;
}

function LanePath({ lane, index, from, x, y }: LanePathProps) {
  const first = lane.marks[0]?.step ?? 0;
  const last = lane.marks.at(-1)?.step ?? first;
  const along = `M${x(first) + 5} ${y(index)}H${x(last) + 5}`;
  const start = lane.from === null || from === -1 ? null : { x: x(lane.from.step) + 5, y: y(from) };
  const bend = start === null ? "" : branch(start, { x: x(first) + 5, y: y(index) });
  return <path d={bend + along} className="stroke-line" strokeWidth="2" fill="none" />;
}

function branch(start: { x: number; y: number }, end: { x: number; y: number }): string {
  const middle = start.x + Math.min(36, Math.max(8, (end.x - start.x) / 2));
  return `M${start.x} ${start.y}C${middle} ${start.y} ${start.x} ${end.y} ${middle + 8} ${end.y}H${Math.max(end.x, middle + 8)}`;
}

function LaneLabel({ lane, x, y, width }: { lane: StepLane; x: (step: number) => number; y: number; width: number }) {
  const left = x(lane.marks[0]?.step ?? 0);
  const end = left > width * 0.6;
  const words = [
    ...(lane.epoch === 0 ? ["adopted"] : [`epoch ${lane.epoch}`, visibleText(lane.nodeName)]),
    ...(lane.from === null ? [] : [`from ${stepWords(lane.from.step)}`]),
  ];
  return (
    <text x={end ? width - 4 : left} y={y - 12} textAnchor={end ? "end" : "start"} className="fill-faint">
      {words.join(" · ")}
    </text>
  );
}
