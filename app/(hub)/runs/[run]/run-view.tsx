"use client";
import { shownStep } from "#protocol/checkpoint/step-words.ts";
import { usePrefetchQuery, useQuery } from "@tanstack/react-query";
import { Link } from "../../../_ui/navigation/link.tsx";

import { isHeard } from "#protocol/fleet/node-status.ts";
import { formatCount, formatDuration } from "#protocol/base/units.ts";
import type { RunView, NodeState } from "#protocol/wire/views.ts";
import { PageFault } from "../../../_hub/faults/page-fault.tsx";
import { useAddressWord } from "../../../_hub/address/address.ts";
import { Age } from "../../../_hub/live/age.tsx";
import { EventsPanelLater } from "../../../_hub/events/events-panel-later.tsx";
import { useEvents } from "../../../_hub/events/use-events.ts";
import { useWhyNot } from "../../../_hub/session/person.tsx";
import { drillsQuery, homesQuery, runQuery } from "../../../_hub/queries/queries.ts";
import { policyQuery, trashQuery } from "../../../_retention/retention-queries.ts";
import { runStateWords } from "../../../_hub/risk-words.ts";
import { useRunStatus } from "../../../_runs/use-run-status.ts";
import { countCheckpoints, useCheckpointPages, type CheckpointFilter } from "../../../_runs/use-checkpoint-pages.ts";
import { readRange, type StepRange } from "../../../_runs/step-range.ts";
import { useDialogs } from "../../../_shell/dialogs.tsx";
import { PageHead } from "../../../_shell/page-head.tsx";
import { Button, ButtonLink } from "../../../_ui/controls/button.tsx";
import { FilterWords } from "../../../_ui/controls/filter-words.tsx";
import { onDemand, onItsWay } from "../../../_ui/loading/on-demand.tsx";
import { Panel } from "../../../_ui/layout/panel.tsx";
import { Skeleton, SkeletonRows } from "../../../_ui/loading/skeleton.tsx";
import { Tag } from "../../../_ui/indicators/tag.tsx";
import { visibleText } from "../../../_ui/text/visible-text.ts";
import { formatBytes } from "../../../_ui/text/sizes.ts";

const Copy = onItsWay(
  () => import("../../../_ui/controls/copy.tsx").then((part) => part.Copy),
  () => <span className="inline-block h-[26px] w-[26px]" />,
);
const RunTide = onItsWay(() => import("../../../_runs/run-tide.tsx").then((part) => part.RunTide));
const RunSteps = onItsWay(
  () => import("../../../_runs/run-steps.tsx").then((part) => part.RunSteps),
  ({ run, isLong }) => <Skeleton style={{ height: (isLong ? 104 : 0) + 14 + 38 * Math.max(1, run.epochs.length) }} />,
);
const CheckpointList = onItsWay(
  () => import("../../../_runs/checkpoint-list.tsx").then((part) => part.CheckpointList),
  ({ rows }) => <SkeletonRows rows={Math.min(12, Math.max(6, rows.length))} label="Loading checkpoints" />,
);
const MetricsPanel = onDemand(
  () => import("../../../_runs/metrics-panel.tsx").then((part) => part.MetricsPanel),
  () => <div className="h-[231px] rounded-2 border border-line bg-panel" />,
);
// Loaded on demand, because few runs are claimed by several nodes.
const ClaimNotices = onDemand(() => import("./claim-notices.tsx").then((part) => part.ClaimNotices));
// Loaded on demand, because few runs begin a new line.
const LineNotices = onDemand(() => import("./line-notices.tsx").then((part) => part.LineNotices));
// Loaded later, because it is below the main content of the page.
const RunBelow = onItsWay(() => import("../../../_runs/run-below.tsx").then((part) => part.RunBelow));

export function RunPageView({ name }: { name: string }) {
  const run = useQuery({ ...runQuery(name), refetchInterval: 5000 });
  // Queries of `RunBelow`, started while its script loads.
  usePrefetchQuery(homesQuery(name));
  usePrefetchQuery(policyQuery(name));
  usePrefetchQuery(trashQuery(name));
  usePrefetchQuery(drillsQuery(name));
  if (run.data !== undefined) return <RunBody run={run.data} />;
  if (run.isError) return <PageFault query={run} thing="run" wayOut={<ButtonLink href="/runs">All runs</ButtonLink>} />;
  return (
    <output aria-label="Loading the run" className="flex flex-col gap-5">
      <Skeleton className="h-9 w-72" />
      <Skeleton className="h-4 w-[480px] max-w-full" />
      <div className="h-32 rounded-2 border border-line bg-panel" />
      <div className="rounded-2 border border-line bg-panel">
        <SkeletonRows rows={6} />
      </div>
    </output>
  );
}

/** Most steps for which the timeline alone is enough. */
const SHORT = 60;
/** All states except the trash, which has a panel of its own. */
const ALL: CheckpointFilter = { states: ["uploading", "complete", "torn", "superseded"], kept: null };
const FILTERS: readonly ({ id: string; label: string } & CheckpointFilter)[] = [
  { id: "all", label: "All", ...ALL },
  { id: "complete", label: "Complete", states: ["complete"], kept: null },
  { id: "pinned", label: "Pinned", ...ALL, kept: "pinned" },
  { id: "tagged", label: "Tagged", ...ALL, kept: "tagged" },
  { id: "uploading", label: "Uploading", states: ["uploading"], kept: null },
  { id: "torn", label: "Incomplete", states: ["torn"], kept: null },
  { id: "replaced", label: "Replaced", states: ["superseded"], kept: null },
];

function RunBody({ run }: { run: RunView }) {
  const dialogs = useDialogs();
  const whyNot = useWhyNot("operator");
  const [show, setShow] = useAddressWord("show", "all");
  // Content below the events is shown once the events have their height.
  const news = useEvents(null, run.name);
  const filter = FILTERS.find((one) => one.id === show) ?? { id: "all", label: "All", ...ALL };
  const [stepsWord, setSteps] = useAddressWord("steps", "");
  const range = readRange(stepsWord);
  const setRange = (to: StepRange | null) => setSteps(to === null ? "" : `${to.from}-${to.to}`);
  const pages = useCheckpointPages(run, { ...filter, steps: range });
  const { rows } = pages;
  const whole = countCheckpoints(run, ALL);
  const status = useRunStatus(run);
  const state = runStateWords(status);
  return (
    <>
      <PageHead
        title={visibleText(run.name)}
        tag={<Tag tone={state.tone}>{state.text}</Tag>}
        about={<RunFacts run={run} writerState={status.writerState} />}
        actions={
          <>
            {run.newestCheckpointId !== null && (
              <ButtonLink href={`/compare?to=${encodeURIComponent(run.newestCheckpointId)}`}>Compare</ButtonLink>
            )}
            <ButtonLink href="#retention">Retention</ButtonLink>
            <Button
              look="main"
              disabled={run.newestCheckpointId === null || whyNot !== null}
              title={whyNot ?? (run.newestCheckpointId === null ? "No complete checkpoint yet." : undefined)}
              onClick={() => dialogs.restore({ checkpointId: run.newestCheckpointId, nodeId: null })}
            >
              Restore
            </Button>
          </>
        }
      />
      {(run.askedBy.length > 0 || run.handedTo !== null) && <ClaimNotices run={run} />}
      {(run.passedOver.length > 0 || run.epochs[0]?.branch != null) && <LineNotices run={run} />}
      <Panel
        title="Steps"
        note={<RunTide run={run} show="line and words" />}
        side={
          <span className="flex flex-wrap gap-2">
            <Tag tone="safe">complete</Tag>
            <Tag tone="moving">uploading</Tag>
            <Tag tone="risk">incomplete</Tag>
            <Tag tone="lost">lost</Tag>
          </span>
        }
      >
        <div className="px-4 py-3">
          {whole === 0 ? (
            <p className="text-soft">No checkpoint yet.</p>
          ) : (
            <RunSteps
              run={run}
              isLong={whole > SHORT}
              writer={status.writerState !== null && !isHeard(status.writerState) ? "unheard" : "heard"}
              checkpoints={range === null ? run.checkpoints.filter(({ state }) => state !== "trashed") : rows}
              range={range}
              onRange={setRange}
            />
          )}
        </div>
      </Panel>
      {run.checkpoints.some(({ metrics }) => Object.keys(metrics).length > 0) && (
        <MetricsPanel run={run.name} range={range} lastStep={run.newestStep ?? 0} onRange={setRange} />
      )}
      <div className="grid items-start gap-5 min-[1180px]:grid-cols-[minmax(0,1fr)_320px]">
        <Panel
          title="Checkpoints"
          note={
            range !== null && (
              <span className="nums">
                steps {formatCount(range.from)} to {formatCount(range.to)}
              </span>
            )
          }
          side={
            <FilterWords
              label="Show"
              value={filter?.id ?? "all"}
              onChange={setShow}
              words={FILTERS.map((one) => ({
                id: one.id,
                label: one.label,
                count: countCheckpoints(run, one),
              })).filter((word) => word.id === "all" || word.id === filter.id || word.count > 0)}
            />
          }
        >
          <CheckpointList
            rows={rows}
            epochs={run.epochs}
            pages={pages}
            filter={filter}
            range={range}
            whole={whole}
            onNewest={() => setSteps("")}
          />
        </Panel>
        <EventsPanelLater nodeId={null} run={run.name} />
      </div>
      <div id="retention" className="flex scroll-mt-16 flex-col gap-5">
        {news.rows === null && !news.query.isError ? null : <RunBelow run={run.name} />}
      </div>
    </>
  );
}

function RunFacts({ run, writerState }: { run: RunView; writerState: NodeState | null }) {
  const address = run.location;
  return (
    <span className="nums">
      {run.writerNodeName === null || run.writerNodeId === null ? (
        "no node writes it"
      ) : (
        <>
          {writerState !== null && isHeard(writerState) ? "written by" : "last written by"}{" "}
          <Link
            href={`/nodes/${encodeURIComponent(run.writerNodeId)}`}
            className="font-mid text-ink normal-nums hover:underline"
          >
            {visibleText(run.writerNodeName)}
          </Link>
          {writerState !== null && !isHeard(writerState) && ` (${writerState})`}, epoch {run.writerEpoch}
        </>
      )}
      {" · "}
      {run.newestStep === null ? (
        "nothing safe yet"
      ) : (
        <>
          newest safe step <b className="font-mid text-ink">{shownStep(run.newestStep)}</b>
          {run.newestAt !== null && (
            <>
              , <Age at={run.newestAt} />
            </>
          )}
        </>
      )}
      {run.intervalMs !== null && ` · every ${formatDuration(run.intervalMs)}`}
      {` · ${formatCount(run.complete)} complete, ${formatBytes(run.totalBytes)} · ${visibleText(run.profileName)} `}
      <span className="inline-block max-w-full align-bottom font-mono text-12 leading-[26px] break-all">
        {visibleText(address)}
      </span>{" "}
      <Copy text={address} label="Copy s3:// address" />
    </span>
  );
}
