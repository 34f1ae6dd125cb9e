"use client";
import { keepPreviousData, useQuery } from "@tanstack/react-query";
import type { ReactNode } from "react";
import { isHeard, NODE_CONDITIONS, type NodeCondition } from "#protocol/fleet/node-status.ts";
import { formatCount } from "#protocol/base/units.ts";
import { ChartBody } from "../_hub/charts/chart-body.tsx";
import { partProps, usePageTime, windowWords } from "../_hub/charts/chart-part.ts";
import { useRate } from "../_hub/preferences/choices.ts";
import { useFleet, useFleetSlowly, useHubNow, useNodes, useTimeWords } from "../_hub/live/live.tsx";
import { fleetNewsQuery, fleetSamplesQuery } from "../_hub/queries/queries.ts";
import { chartWindow, RANGES } from "../_hub/charts/ranges.ts";
import { backlogAge, CONDITION_WORDS } from "../_hub/risk-words.ts";
import { countConditions } from "../_nodes/node-filter.ts";
import { Mark } from "../_ui/indicators/mark.tsx";
import { ChartLater } from "../_ui/charts/chart-later.tsx";
import { FilterWords } from "../_ui/controls/filter-words.tsx";
import { Panel } from "../_ui/layout/panel.tsx";
import { Tag } from "../_ui/indicators/tag.tsx";
import { visibleText } from "../_ui/text/visible-text.ts";
import { formatBytes, sizeBase } from "../_ui/text/sizes.ts";

/** Shows bytes at risk and upload rate over time, and five current numbers. */
export function TidePanel() {
  const now = useHubNow(5000);
  const time = usePageTime(now);
  const { range } = time;
  const fleet = useFleetSlowly();
  const rate = useRate();
  const news = useQuery(fleetNewsQuery());
  const samples = useQuery({ ...fleetSamplesQuery(time.minutes), placeholderData: keepPreviousData });
  const stored = samples.data ?? [];
  const isPresent = fleet !== null && fleet.at > (stored.at(-1)?.at ?? 0);
  const points = isPresent
    ? [...stored, { at: fleet.at, upBytesPerSecond: fleet.upBytesPerSecond, atRiskBytes: fleet.risk.bytes }]
    : stored;
  const shown = chartWindow({
    first: points[0]?.at,
    now: Math.max(now, points.at(-1)?.at ?? 0),
    minutes: range.minutes,
  });
  const markers = (news.data?.rows ?? [])
    .filter((event) => event.kind === "node-silent" || event.kind === "restore-done")
    .slice(0, 6)
    .map((event) => ({
      at: event.at,
      tone: event.work,
      label: `${visibleText(event.nodeName ?? "")} ${event.kind === "node-silent" ? "went silent" : "restored"}`,
    }));
  return (
    <Panel
      title={`Tide, ${windowWords({ range, part: time.part, since: shown.since })}`}
      side={
        <>
          <span className="flex flex-wrap gap-2">
            <Tag tone="risk">at risk</Tag>
            <Tag tone="safe">made safe</Tag>
          </span>
          <FilterWords label="Range" words={RANGES} value={range.id} onChange={time.setRange} />
        </>
      }
    >
      <ChartBody query={samples}>
        <ChartLater
          label={`Bytes at risk and upload rate of all nodes, last ${range.words}`}
          times={points.map((point) => point.at)}
          {...partProps(time, shown)}
          markers={markers}
          series={[
            {
              key: "risk",
              label: "at risk",
              tone: "risk",
              fill: "area",
              values: points.map((point) => point.atRiskBytes),
              format: formatBytes,
              scale: { name: "bytes", base: sizeBase() },
            },
            {
              key: "up",
              label: "made safe",
              tone: "safe",
              values: points.map((point) => point.upBytesPerSecond),
              format: rate,
              scale: { name: "rate", base: 10 },
            },
          ]}
        />
      </ChartBody>
      <Stats />
    </Panel>
  );
}

function Stats() {
  const fleet = useFleet();
  const rate = useRate();
  const oldest = useTimeWords((now) => (fleet === null ? null : backlogAge(fleet.risk, now)) ?? "–");
  const nodes = useNodes();
  if (fleet === null || nodes === null) return null;
  // Counted from the same rows as the list, so that both agree on each node's state.
  const active = [...nodes.values()].filter(({ state }) => state !== "revoked");
  return (
    <dl className="nums dim-when-stale grid grid-cols-2 overflow-hidden rounded-b-2 border-t border-line sm:grid-cols-6 lg:grid-cols-5 [&>div]:-mt-px [&>div]:-ml-px [&>div]:border-t [&>div]:border-l [&>div]:border-line sm:[&>div]:col-span-2 sm:[&>div:nth-child(-n+2)]:col-span-3 lg:[&>div:nth-child(n)]:col-span-1 max-sm:[&>div:first-child]:col-span-2">
      <Stat
        value={formatCount(active.filter(({ state }) => isHeard(state)).length)}
        of={`of ${formatCount(active.length)} ${active.length === 1 ? "node" : "nodes"}`}
        about={<ConditionCounts counts={countConditions(active)} />}
      />
      <Stat
        value={formatBytes(fleet.risk.bytes)}
        about={`not safe yet, ${formatCount(fleet.risk.files)} ${fleet.risk.files === 1 ? "file" : "files"}`}
      />
      <Stat value={oldest} about="oldest waiting" />
      <Stat
        value={rate(fleet.upBytesPerSecond)}
        of="up"
        about={`${rate(fleet.downBytesPerSecond)} down, ${formatCount(fleet.activeTransfers)} ${fleet.activeTransfers === 1 ? "transfer" : "transfers"} now`}
      />
      <Stat
        value={formatCount(fleet.doneLastDay)}
        of="done"
        about={`in 24 h, ${formatCount(fleet.failedLastDay)} failed`}
      />
    </dl>
  );
}

function Stat({ value, of, about }: { value: string; of?: string; about: ReactNode }) {
  return (
    <div className="flex flex-col-reverse justify-end px-4 py-3">
      <dt className="text-12 text-soft">{about}</dt>
      <dd className="text-20 font-semibold tracking-[-.01em]">
        {value} {of !== undefined && <span className="text-13 font-normal tracking-normal text-faint">{of}</span>}
      </dd>
    </div>
  );
}

/** Shows the number of nodes per condition, with the marks of the list below. */
function ConditionCounts({ counts }: { counts: ReadonlyMap<NodeCondition, number> }) {
  return (
    <span className="flex flex-wrap gap-x-3">
      {NODE_CONDITIONS.filter((condition) => condition !== "revoked" && (counts.get(condition) ?? 0) > 0).map(
        (condition) => (
          <span key={condition} className="inline-flex items-center gap-1 whitespace-nowrap">
            <Mark tone={CONDITION_WORDS[condition].tone} className="scale-[.8]" />
            {formatCount(counts.get(condition) ?? 0)} {CONDITION_WORDS[condition].text}
          </span>
        ),
      )}
    </span>
  );
}
