"use client";
import { useQuery } from "@tanstack/react-query";
import { useRef, useState, type PointerEvent } from "react";
import { formatCount } from "#protocol/base/units.ts";
import { faultOf } from "../_hub/faults/fault-of.ts";
import { FaultNote } from "../_hub/faults/fault-note.tsx";
import { timelineQuery } from "../_hub/queries/queries.ts";
import { Button } from "../_ui/controls/button.tsx";
import { useWidth } from "../_ui/rendering/use-width.ts";
import { Skeleton } from "../_ui/loading/skeleton.tsx";
import { visibleText } from "../_ui/text/visible-text.ts";
import { historyLanes, type HistoryLane, type RunHistory } from "./history-lanes.ts";
import { StepFields } from "./step-fields.tsx";
import type { StepRange } from "./step-range.ts";

const LANE = 34;
const BAR = 10;
const TOP = 18;
const MOST_LANES = 8;
const FILL = { safe: "fill-safe", moving: "fill-moving", risk: "fill-risk", lost: "fill-lost" };

interface RunHistoryProps {
  run: string;
  range: StepRange | null;
  onRange: (range: StepRange | null) => void;
}

/** Shows the whole run, whatever its length. Dragging selects the steps listed below. */
export function RunHistory({ run, range, onRange }: RunHistoryProps) {
  const timeline = useQuery(timelineQuery(run));
  const frame = useRef<HTMLDivElement>(null);
  const width = useWidth(frame);
  const [dragged, setDragged] = useState<{ from: number; to: number } | null>(null);
  if (timeline.isError && timeline.data === undefined)
    return <FaultNote fault={faultOf(timeline.error)} onRetry={() => void timeline.refetch()} />;
  const history =
    timeline.data === undefined || width === 0
      ? null
      : historyLanes({ timeline: timeline.data, width, most: MOST_LANES });
  const stepAt = (event: PointerEvent<HTMLElement>): number => {
    if (history === null) return 0;
    const box = event.currentTarget.getBoundingClientRect();
    const share = Math.min(1, Math.max(0, (event.clientX - box.left) / box.width));
    return Math.round(history.first + share * (history.last - history.first));
  };
  const end = (): void => {
    if (dragged === null || history === null) return;
    setDragged(null);
    const [from, to] = [Math.min(dragged.from, dragged.to), Math.max(dragged.from, dragged.to)];
    // A click without a drag selects the steps around it.
    const around = to > from ? 0 : Math.max(1, Math.round((history.last - history.first) / 50));
    onRange({ from: Math.max(0, from - around), to: to + around });
  };
  const shown = dragged ?? range;
  return (
    <div className="flex flex-col gap-2">
      <div
        ref={frame}
        className="relative min-w-0 touch-pan-y"
        onPointerDown={(event) => {
          if (event.button !== 0) return;
          event.currentTarget.setPointerCapture(event.pointerId);
          const step = stepAt(event);
          setDragged({ from: step, to: step });
        }}
        onPointerMove={(event) => {
          if (dragged !== null) setDragged({ ...dragged, to: stepAt(event) });
        }}
        onPointerUp={end}
        onPointerCancel={() => setDragged(null)}
      >
        {history === null ? (
          <Skeleton className="h-[52px] w-full" />
        ) : (
          <HistoryPicture history={history} width={width} shown={shown} />
        )}
      </div>
      {history !== null && (
        <>
          <ul aria-label="Steps by epoch, in words" className="sr-only">
            {history.lanes.map((lane) => (
              <li key={lane.epoch}>{visibleText(lane.summary)}</li>
            ))}
          </ul>
          <div className="flex flex-wrap items-center gap-x-3 gap-y-2 text-12 text-soft">
            <StepFields
              key={range === null ? "all" : `${range.from} ${range.to}`}
              range={range}
              bounds={{ from: history.first, to: history.last }}
              onRange={onRange}
            />
            {range !== null && (
              <Button size="small" look="quiet" onClick={() => onRange(null)}>
                Newest steps
              </Button>
            )}
            <span className="nums ml-auto text-faint">
              {[
                `${formatCount(timeline.data?.lanes.reduce((sum, { steps }) => sum + steps.length, 0) ?? 0)} steps`,
                ...(history.omitted === 0 ? [] : [`${formatCount(history.omitted)} older epochs are not drawn`]),
                ...((timeline.data?.omitted ?? 0) === 0
                  ? []
                  : [`${formatCount(timeline.data?.omitted ?? 0)} older steps are not drawn`]),
              ].join(", ")}
            </span>
          </div>
        </>
      )}
    </div>
  );
}

interface PictureProps {
  history: RunHistory;
  width: number;
  shown: StepRange | null;
}

function HistoryPicture({ history, width, shown }: PictureProps) {
  const height = TOP + history.lanes.length * LANE - (LANE - BAR - 4);
  const x = (step: number): number =>
    Math.min(1, Math.max(0, (step - history.first) / Math.max(1, history.last - history.first))) * width;
  const [from, to] = shown === null ? [0, 0] : [x(Math.min(shown.from, shown.to)), x(Math.max(shown.from, shown.to))];
  return (
    <svg aria-hidden width="100%" height={height} className="nums block cursor-crosshair text-11 select-none">
      {shown !== null && (
        <rect
          x={from}
          y={0}
          width={Math.max(3, to - from)}
          height={height}
          rx={2}
          className="fill-accent/12 stroke-accent/50"
        />
      )}
      {history.lanes.map((lane, index) => (
        <LaneRow key={lane.epoch} lane={lane} y={TOP + index * LANE} width={width} />
      ))}
    </svg>
  );
}

function LaneRow({ lane, y, width }: { lane: HistoryLane; y: number; width: number }) {
  const isRight = lane.x > width * 0.6;
  return (
    <g>
      <text x={isRight ? width : lane.x} y={y - 6} textAnchor={isRight ? "end" : "start"} className="fill-soft">
        {visibleText(lane.words)}
        {lane.lost !== null && <tspan className="fill-lost">{`  ${lane.lost.words}`}</tspan>}
      </text>
      {lane.gaps.map((gap) => (
        <line
          key={gap.x}
          x1={gap.x}
          x2={gap.x + gap.width}
          y1={y + BAR / 2}
          y2={y + BAR / 2}
          className="stroke-edge"
          strokeDasharray="2 4"
        >
          <title>{gap.words}</title>
        </line>
      ))}
      {lane.bars.map((bar) => (
        <rect
          key={bar.x}
          x={bar.x}
          // Other states than safe are taller, so that hue is not the only sign.
          y={bar.tone === "safe" ? y : y - 3}
          width={bar.width}
          height={bar.tone === "safe" ? BAR : BAR + 6}
          className={FILL[bar.tone]}
        />
      ))}
      {lane.lost !== null && (
        <path
          d={`M${lane.lost.x} ${y + BAR + 5}H${lane.lost.x + lane.lost.width}`}
          className="stroke-lost"
          strokeWidth="2"
        />
      )}
    </g>
  );
}
