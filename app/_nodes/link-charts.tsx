"use client";
import { keepPreviousData, useQuery } from "@tanstack/react-query";
import type { NodeRow, SamplePoint } from "#protocol/wire/views.ts";
import { partProps, usePageTime } from "../_hub/charts/chart-part.ts";
import { useHubNow } from "../_hub/live/live.tsx";
import { nodeSamplesQuery } from "../_hub/queries/queries.ts";
import { breakAfterMs, chartWindow } from "../_hub/charts/ranges.ts";
import { QueryFault } from "../_hub/faults/query-fault.tsx";
import { ChartLater } from "../_ui/charts/chart-later.tsx";
import { Panel } from "../_ui/layout/panel.tsx";
import { Skeleton } from "../_ui/loading/skeleton.tsx";
import { useTrail, type TrailPoint } from "./live-trail.ts";

const HEIGHT = 112;
const NONE: readonly SamplePoint[] = [];

interface Measure {
  key: "rttMs" | "cpuPercent";
  title: string;
  tone: "moving" | "safe";
  format: (value: number) => string;
  /** Shown instead of a chart when nothing was measured. */
  nothing: string;
}

const MEASURES: readonly Measure[] = [
  {
    key: "rttMs",
    title: "Round trip to the bucket",
    tone: "moving",
    format: (value) => `${value < 10 ? value.toFixed(1) : Math.round(value)} ms`,
    nothing: "Measured while something moves; nothing did.",
  },
  {
    key: "cpuPercent",
    title: "Worker CPU, of one core",
    tone: "safe",
    format: (value) => `${value < 10 ? value.toFixed(1) : Math.round(value)} %`,
    nothing: "No minute is on record yet.",
  },
];

/** Shows round trip and CPU usage of the worker, over the same time range as the throughput chart. */
export function LinkCharts({ node }: { node: NodeRow }) {
  const now = useHubNow(1000);
  const time = usePageTime(now);
  const { range } = time;
  const samples = useQuery({ ...nodeSamplesQuery(node.id, time.minutes), placeholderData: keepPreviousData });
  const points = useTrail(node, now, samples.data ?? NONE);
  const shown = chartWindow({
    first: points[0]?.at,
    now: Math.max(now, points.at(-1)?.at ?? 0),
    minutes: range.minutes,
  });
  return (
    <Panel label="Round trip and CPU">
      {samples.isError && samples.data === undefined ? (
        <QueryFault query={samples} />
      ) : (
        <div className="grid gap-x-6 md:grid-cols-2">
          {MEASURES.map((measure) => (
            <MeasureChart
              key={measure.key}
              measure={measure}
              points={samples.data === undefined ? null : points}
              part={partProps(time, shown)}
              breakAfter={breakAfterMs(range)}
              name={node.name}
            />
          ))}
        </div>
      )}
    </Panel>
  );
}

interface MeasureChartProps {
  measure: Measure;
  /** Null while they load. */
  points: readonly TrailPoint[] | null;
  part: ReturnType<typeof partProps>;
  breakAfter: number;
  name: string;
}

function MeasureChart({ measure, points, part, breakAfter, name }: MeasureChartProps) {
  const { key, title, tone, format, nothing } = measure;
  // Points without a measurement are gaps, not zeros.
  const known = (points ?? []).flatMap((point) => {
    const value = point[key];
    return value === null ? [] : [{ at: point.at, value }];
  });
  const last = known.at(-1);
  return (
    <figure aria-label={title} className="min-w-0 px-2 pt-2.5 pb-2 sm:px-4">
      <figcaption className="flex items-baseline gap-2 pb-1">
        <span className="font-mid">{title}</span>
        {last !== undefined && <span className="nums dim-when-stale text-soft">{format(last.value)}</span>}
      </figcaption>
      {points === null ? (
        <Skeleton style={{ height: HEIGHT }} />
      ) : known.length === 0 ? (
        <p className="text-soft" style={{ height: HEIGHT }}>
          {nothing}
        </p>
      ) : (
        <ChartLater
          label={`${title} of ${name}`}
          times={known.map(({ at }) => at)}
          {...part}
          height={HEIGHT}
          breakAfterMs={breakAfter}
          series={[
            {
              key,
              label: title,
              tone,
              values: known.map(({ value }) => value),
              format,
              scale: { name: key, base: 10 },
            },
          ]}
        />
      )}
    </figure>
  );
}
