"use client";
import { useQuery } from "@tanstack/react-query";
import { Link } from "../_ui/navigation/link.tsx";
import type { ReactNode } from "react";
import type { BucketUsage, RunUsage } from "#protocol/buckets/bucket-usage.ts";
import { formatCount } from "#protocol/base/units.ts";
import { Age } from "../_hub/live/age.tsx";
import { bucketVersionsQuery, usageQuery } from "../_hub/queries/queries.ts";
import { QueryFault } from "../_hub/faults/query-fault.tsx";
import { CountCell } from "../_ui/tables/count-cell.tsx";
import { Panel } from "../_ui/layout/panel.tsx";
import { SkeletonRows } from "../_ui/loading/skeleton.tsx";
import { Cell, Row, Table } from "../_ui/tables/table.tsx";
import { visibleText } from "../_ui/text/visible-text.ts";
import { UsageDays } from "./usage-days.tsx";
import { costBasis, growthCost, keptPerDay, moneyOf, versionsMissing } from "./usage-words.ts";
import { formatBytes } from "../_ui/text/sizes.ts";

/** Shows the size of a bucket by run, its growth and cost. The numbers come from manifests and history, without a listing. */
export function UsagePanel({ profileId }: { profileId: string }) {
  const usage = useQuery(usageQuery(profileId));
  return (
    <Panel label="Usage and cost" title="Usage and cost" note="From manifests; excludes other objects.">
      {usage.data !== undefined ? (
        <>
          <UsageBody usage={usage.data} />
          <VersionsMissing profileId={profileId} />
        </>
      ) : usage.isError ? (
        <QueryFault query={usage} />
      ) : (
        <SkeletonRows rows={3} label="Adding up checkpoints" />
      )}
    </Panel>
  );
}

/** Says what the numbers lack where the bucket keeps old versions; renders nothing while that is unknown. */
function VersionsMissing({ profileId }: { profileId: string }) {
  const words = versionsMissing(useQuery(bucketVersionsQuery(profileId)).data?.keepsVersions ?? null);
  return words === null ? null : <p className="border-t border-line px-4 py-2 text-soft">{words}</p>;
}

function Fact({ label, children }: { label: string; children: ReactNode }) {
  return (
    <div>
      <dt className="text-12 text-faint">{label}</dt>
      <dd>{children}</dd>
    </div>
  );
}

function UsageBody({ usage }: { usage: BucketUsage }) {
  const { stored, days, moved, cost } = usage;
  const perDay = keptPerDay(usage);
  const growth = cost === null ? null : growthCost(perDay, cost);
  return (
    <>
      <div className="nums grid gap-x-10 gap-y-4 border-b border-line px-4 py-3 lg:grid-cols-3">
        <dl className="grid grid-cols-2 content-start gap-x-6 gap-y-3">
          <Fact label="Stored">{formatBytes(stored.bytes)}</Fact>
          <Fact label="Objects">{formatCount(stored.objects)}</Fact>
          <Fact label="Of that in the trash">{formatBytes(stored.trashedBytes)}</Fact>
          <Fact label="Grows by">{formatBytes(perDay)} a day</Fact>
          <Fact label={`Sent in ${moved.days} d`}>{formatBytes(moved.upBytes)}</Fact>
          <Fact label={`Fetched in ${moved.days} d`}>{formatBytes(moved.downBytes)}</Fact>
        </dl>
        <UsageDays days={days} />
        {cost === null ? (
          <p className="text-soft">No public prices; enter yours under Edit.</p>
        ) : (
          <div>
            <dl className="grid grid-cols-[1fr_auto] gap-y-1 [&>dd]:pl-6">
              <dt className="text-soft">Storage</dt>
              <dd className="text-right">{moneyOf(cost.storage, cost.currency)}</dd>
              <dt className="text-soft">Egress</dt>
              <dd className="text-right">
                {moneyOf(cost.egress, cost.currency)}
                {cost.freeDownBytes > 0 && (
                  <span className="text-faint"> after {formatBytes(cost.freeDownBytes)} free</span>
                )}
              </dd>
              <dt className="text-soft">Requests</dt>
              <dd className="text-right">{moneyOf(cost.requests, cost.currency)}</dd>
              <dt className="border-t border-line pt-1 font-mid">A month, about</dt>
              <dd className="border-t border-line pt-1 text-right font-mid">{moneyOf(cost.total, cost.currency)}</dd>
            </dl>
            <p className="pt-2 text-12 text-faint">
              {growth !== null && `Growing like this, ${growth}. `}
              {costBasis(usage)}{" "}
              {cost.source !== null && (
                <a href={cost.source} target="_blank" rel="noreferrer" className="underline">
                  Price list
                </a>
              )}
            </p>
          </div>
        )}
      </div>
      <RunsTable usage={usage} />
    </>
  );
}

const COLUMNS = [
  { key: "run", head: "Run" },
  { key: "checkpoints", head: "Checkpoints", align: "right", from: "sm" },
  { key: "objects", head: "Objects", align: "right", from: "sm" },
  { key: "share", head: "Share", from: "md" },
  { key: "newest", head: "Newest", align: "right", from: "md" },
  { key: "bytes", head: "Size", align: "right" },
] as const;

function RunsTable({ usage }: { usage: BucketUsage }) {
  const { runs, others, stored } = usage;
  if (runs.length === 0) return <p className="px-4 py-6 text-soft">No checkpoints yet.</p>;
  return (
    <>
      <Table label="Usage by run" columns={COLUMNS}>
        {runs.map((run) => (
          <RunRow key={run.run} run={run} share={stored.bytes === 0 ? 0 : run.bytes / stored.bytes} />
        ))}
      </Table>
      {others.runs > 0 && (
        <p className="nums border-t border-line px-4 py-2 text-soft">
          And {formatCount(others.runs)} smaller runs: {formatBytes(others.bytes)} in {formatCount(others.objects)}{" "}
          objects.
        </p>
      )}
    </>
  );
}

function RunRow({ run, share }: { run: RunUsage; share: number }) {
  return (
    <Row>
      <Cell>
        <Link href={`/runs/${encodeURIComponent(run.run)}`} className="font-mid hover:underline">
          {visibleText(run.run)}
        </Link>
      </Cell>
      <Cell align="right" from="sm">
        {formatCount(run.checkpoints)}
        {run.trashed > 0 && <span className="text-faint">, {formatCount(run.trashed)} in the trash</span>}
      </Cell>
      <CountCell from="sm" count={run.objects} />
      <Cell from="md">
        <svg role="img" aria-label={`${Math.round(share * 100)} % of it`} height="8" className="block w-28">
          <rect y="3" width="100%" height="2" rx="1" className="fill-line" />
          <rect width={`${share * 100}%`} height="8" rx="1" className="fill-safe" />
        </svg>
      </Cell>
      <Cell align="right" from="md">
        {run.newestAt === null ? "" : <Age at={run.newestAt} />}
      </Cell>
      <Cell align="right">{formatBytes(run.bytes)}</Cell>
    </Row>
  );
}
