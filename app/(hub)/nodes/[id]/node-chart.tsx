"use client";
import { isHeard } from "#protocol/fleet/node-status.ts";
import { keepPreviousData, useQuery } from "@tanstack/react-query";
import type { NodeRow, SamplePoint } from "#protocol/wire/views.ts";
import { ChartBody } from "../../../_hub/charts/chart-body.tsx";
import { partProps, usePageTime, windowWords } from "../../../_hub/charts/chart-part.ts";
import { useRate } from "../../../_hub/preferences/choices.ts";
import { useHubNow } from "../../../_hub/live/live.tsx";
import { nodeSamplesQuery } from "../../../_hub/queries/queries.ts";
import { breakAfterMs, chartWindow, RANGES } from "../../../_hub/charts/ranges.ts";
import { useTrail } from "../../../_nodes/live-trail.ts";
import { ChartLater } from "../../../_ui/charts/chart-later.tsx";
import { FilterWords } from "../../../_ui/controls/filter-words.tsx";
import { Panel } from "../../../_ui/layout/panel.tsx";
import { Tag } from "../../../_ui/indicators/tag.tsx";
import { formatBytes, sizeBase } from "../../../_ui/text/sizes.ts";

const NONE: readonly SamplePoint[] = [];
const SAMPLES = ["upBytesPerSecond", "downBytesPerSecond", "atRiskBytes"] as const;

/** Shows upload rate, download rate and bytes at risk over time. The last point is live. */
export function NodeChart({ node }: { node: NodeRow }) {
  const now = useHubNow(1000);
  const time = usePageTime(now);
  const { range } = time;
  const rate = useRate();
  const samples = useQuery({ ...nodeSamplesQuery(node.id, time.minutes), placeholderData: keepPreviousData });
  const points = useTrail(node, now, samples.data ?? NONE);
  const [up, down, risk] = SAMPLES.map((key) => points.map((point) => point[key]));
  const shown = chartWindow({
    first: points[0]?.at,
    now: Math.max(now, points.at(-1)?.at ?? 0),
    minutes: range.minutes,
  });
  return (
    <Panel
      title={`Throughput, ${windowWords({ range, part: time.part, since: shown.since })}`}
      side={
        <>
          <span className="nums dim-when-stale flex flex-wrap gap-2">
            <Tag tone="safe">up {isHeard(node.state) && rate(node.upBytesPerSecond)}</Tag>
            <Tag tone="moving">down {isHeard(node.state) && rate(node.downBytesPerSecond)}</Tag>
            <Tag tone="risk">at risk {formatBytes(node.risk.bytes)}</Tag>
          </span>
          <FilterWords label="Range" words={RANGES} value={range.id} onChange={time.setRange} />
        </>
      }
    >
      <ChartBody query={samples}>
        <ChartLater
          label={`Upload, download and bytes at risk of ${node.name}, last ${range.words}`}
          times={points.map((point) => point.at)}
          {...partProps(time, shown)}
          breakAfterMs={breakAfterMs(range)}
          series={[
            {
              key: "up",
              label: "up",
              tone: "safe",
              values: up ?? [],
              format: rate,
              scale: { name: "rate", base: 10 },
            },
            {
              key: "down",
              label: "down",
              tone: "moving",
              values: down ?? [],
              format: rate,
              scale: { name: "rate", base: 10 },
            },
            {
              key: "risk",
              label: "at risk",
              tone: "risk",
              fill: "area",
              values: risk ?? [],
              format: formatBytes,
              scale: { name: "bytes", base: sizeBase() },
            },
          ]}
        />
      </ChartBody>
    </Panel>
  );
}
