"use client";
import { useQuery } from "@tanstack/react-query";
import { useState, type ReactNode } from "react";
import { formatCount, formatDuration } from "#protocol/base/units.ts";
import type { JobSpec } from "#protocol/jobs/job-spec.ts";
import type { JobDetail, JobKelpie } from "#protocol/jobs/job-views.ts";
import { useTitle } from "../../../_hub/address/title.ts";
import { PageFault } from "../../../_hub/faults/page-fault.tsx";
import { Age } from "../../../_hub/live/age.tsx";
import { useHubNow } from "../../../_hub/live/live.tsx";
import { useWhyNot } from "../../../_hub/session/person.tsx";
import { AttemptsPanel } from "../../../_jobs/attempts-panel.tsx";
import type { JobChange } from "../../../_jobs/change-jobs-dialog.tsx";
import { writeCommand } from "../../../_jobs/command-text.ts";
import { jobQuery } from "../../../_hub/queries/queries.ts";
import { inputLine, outputLine } from "../../../_jobs/place-lines.ts";
import { JOB_LOOKS, whyWords } from "../../../_jobs/job-words.ts";
import { PageHead } from "../../../_shell/page-head.tsx";
import { Button, ButtonLink } from "../../../_ui/controls/button.tsx";
import { Banner } from "../../../_ui/feedback/banner.tsx";
import { Tag } from "../../../_ui/indicators/tag.tsx";
import { CodeBlock } from "../../../_ui/layout/code-block.tsx";
import { Panel } from "../../../_ui/layout/panel.tsx";
import { onDemand, onItsWay } from "../../../_ui/loading/on-demand.tsx";
import { Skeleton, SkeletonRows } from "../../../_ui/loading/skeleton.tsx";
import { Link } from "../../../_ui/navigation/link.tsx";
import { formatBytes } from "../../../_ui/text/sizes.ts";
import { visibleText } from "../../../_ui/text/visible-text.ts";

const ChangeJobsDialog = onDemand(() =>
  import("../../../_jobs/change-jobs-dialog.tsx").then((part) => part.ChangeJobsDialog),
);

const JobMetrics = onItsWay(() => import("../../../_jobs/job-metrics.tsx").then((part) => part.JobMetrics));
const LogPanel = onItsWay(() => import("../../../_jobs/log-panel.tsx").then((part) => part.LogPanel));

/** Shows one job: its state and why, its attempts, what it runs and what it needs. */
export function JobView({ id }: { id: string }) {
  const job = useQuery(jobQuery(id));
  if (job.data !== undefined) return <JobBody job={job.data} />;
  if (job.isError) return <PageFault query={job} thing="job" wayOut={<ButtonLink href="/jobs">All jobs</ButtonLink>} />;
  return (
    <output aria-label="Loading the job" className="flex flex-col gap-5">
      <Skeleton className="h-9 w-72" />
      <Skeleton className="h-4 w-[480px] max-w-full" />
      <div className="rounded-2 border border-line bg-panel">
        <SkeletonRows rows={4} />
      </div>
    </output>
  );
}

function JobBody({ job }: { job: JobDetail }) {
  const [change, setChange] = useState<JobChange | null>(null);
  const whyNot = useWhyNot("operator");
  const { tone, text } = JOB_LOOKS[job.state];
  const name = visibleText(job.name);
  useTitle(name);
  const why = whyWords(job);
  const canCancel = job.state === "waiting" || job.state === "running";
  return (
    <>
      <PageHead
        title={name}
        tag={<Tag tone={tone}>{text}</Tag>}
        about={<JobFacts job={job} />}
        actions={
          <>
            {job.kelpie === null && <ButtonLink href={`/runs/${encodeURIComponent(job.run)}`}>Checkpoints</ButtonLink>}
            {job.state === "failed" && (
              <Button look="main" whyNot={whyNot} onClick={() => setChange("retry")}>
                Retry
              </Button>
            )}
            {canCancel && (
              <Button whyNot={whyNot} onClick={() => setChange("cancel")}>
                Cancel
              </Button>
            )}
          </>
        }
      />
      {job.kelpie !== null && <KelpieBanner kelpie={job.kelpie} />}
      {why !== null && <Banner tone={job.state === "failed" ? "lost" : "quiet"} title={why} />}
      {job.waits !== null && <Banner tone="quiet" title={`Waits: ${visibleText(job.waits)}`} />}
      <AttemptsPanel attempts={job.attemptRows} />
      {job.attemptRows.length > 0 && (job.spec?.watch.length ?? 0) > 0 && <JobMetrics job={job} />}
      {job.attemptRows.length > 0 && job.kelpie === null && (
        <LogPanel jobId={job.id} attempts={job.attemptRows.map(({ attempt }) => attempt)} />
      )}
      {(job.after.length > 0 || job.followers.length > 0) && <OrderPanel job={job} />}
      {job.bans.length > 0 && <BansPanel bans={job.bans} />}
      {job.spec === null ? (
        <Banner tone="lost" title="The definition of this job cannot be read. Submit the job again." />
      ) : (
        <SpecPanel spec={job.spec} job={job} />
      )}
      {change !== null && (
        <ChangeJobsDialog change={change} which={{ ids: [job.id] }} onClose={() => setChange(null)} />
      )}
    </>
  );
}

/** Says what the hub does not know of a job whose worker is one of Kelpie. */
function KelpieBanner({ kelpie }: { kelpie: JobKelpie }) {
  return (
    <Banner tone="quiet" title="Synced by Kelpie, not verified">
      Only Kelpie workers take this job. They move its files with keys of their own, so this hub has no checkpoint of
      it.
      {kelpie.heartbeatAt !== null && (
        <>
          {" "}
          {formatCount(kelpie.heartbeats)} {kelpie.heartbeats === 1 ? "heartbeat" : "heartbeats"}, the last{" "}
          <Age at={kelpie.heartbeatAt} />.
        </>
      )}
    </Banner>
  );
}

function JobFacts({ job }: { job: JobDetail }) {
  const now = useHubNow(1_000);
  const dueMs = job.dueAt === null || now === 0 ? 0 : job.dueAt - now;
  return (
    <span className="nums">
      job {formatCount(job.number)} in{" "}
      <Link
        href={`/jobs?queue=${encodeURIComponent(job.queue)}`}
        className="font-mid text-ink normal-nums hover:underline"
      >
        {visibleText(job.queue)}
      </Link>
      {" · "}
      {job.node === null ? (
        machineWords(job)
      ) : (
        <>
          {job.state === "running" ? "runs on " : "last on "}
          <Link
            href={`/nodes/${encodeURIComponent(job.node.id)}`}
            className="font-mid text-ink normal-nums hover:underline"
          >
            {visibleText(job.node.name)}
          </Link>
        </>
      )}
      {job.state === "waiting" && dueMs > 1_000 && ` · handed out again in ${formatDuration(dueMs)}`}
      {job.failures > 0 && ` · ${job.failures} of ${job.mostFailures} failures`}
      {job.priority !== 0 && ` · priority ${job.priority}`}
      {" · submitted by "}
      {visibleText(job.owner)} <Age at={job.createdAt} />
    </span>
  );
}

/** Returns where a job without a node is. */
function machineWords({ kelpie, state }: JobDetail): string {
  if (kelpie === null) return "no node has taken it yet";
  if (kelpie.machine === null) return "no worker has taken it yet";
  return `${state === "running" ? "runs" : "last"} on the machine ${visibleText(kelpie.machine)}`;
}

/** Lists the jobs that go before a job, and those that follow it. */
function OrderPanel({ job: { after, followers } }: { job: JobDetail }) {
  const rows = [
    ...after.map((link) => ({ link, word: "after" })),
    ...followers.map((link) => ({ link, word: "followed by" })),
  ];
  return (
    <Panel title="Order" label="Order">
      <ul className="divide-y divide-line">
        {rows.map(({ link, word }) => (
          <li key={`${word} ${link.id}`} className="flex flex-wrap items-baseline gap-x-3 px-4 py-2">
            <span className="text-faint">{word}</span>
            <Link href={`/jobs/${encodeURIComponent(link.id)}`} className="min-w-0 flex-1 font-mid hover:underline">
              {visibleText(link.name)}
            </Link>
            <Tag tone={JOB_LOOKS[link.state].tone}>{JOB_LOOKS[link.state].text}</Tag>
          </li>
        ))}
      </ul>
    </Panel>
  );
}

function BansPanel({ bans }: { bans: JobDetail["bans"] }) {
  const now = useHubNow(10_000);
  return (
    <Panel title="Nodes that are not given this job" label="Nodes that are not given this job">
      <ul className="divide-y divide-line">
        {bans.map(({ node, until, reason }) => (
          <li key={`${node.id ?? "machine"} ${node.name}`} className="nums flex flex-wrap gap-x-3 px-4 py-2">
            <span className="font-mid">{visibleText(node.name)}</span>
            <span className="min-w-0 flex-1 text-soft">{visibleText(reason)}</span>
            <span className="text-faint">
              {now === 0 ? "" : `for ${formatDuration(Math.max(0, until - now))} more`}
            </span>
          </li>
        ))}
      </ul>
    </Panel>
  );
}

function SpecPanel({ spec, job: { run, kelpie } }: { spec: JobSpec; job: JobDetail }) {
  const { needs, policy } = spec;
  const variables = Object.entries(spec.environment);
  const limits = [
    `fails after ${policy.mostFailures} failures`,
    ...(policy.longestSeconds === undefined
      ? []
      : [`an attempt takes ${formatDuration(policy.longestSeconds * 1000)} at most`]),
    ...(policy.noProgressSeconds === undefined
      ? []
      : [`ends without a newer safe step for ${formatDuration(policy.noProgressSeconds * 1000)}`]),
  ];
  const wants = [
    ...(needs.gpuMemoryBytes === undefined ? [] : [`${formatBytes(needs.gpuMemoryBytes)} of GPU memory`]),
    ...(needs.diskBytes === undefined ? [] : [`${formatBytes(needs.diskBytes)} of free disk`]),
    ...(needs.uplinkBytesPerSecond === undefined ? [] : [`${formatBytes(needs.uplinkBytesPerSecond)}/s up`]),
    ...Object.entries(needs.labels).map(([name, value]) => `${visibleText(name)}=${visibleText(value)}`),
  ];
  return (
    <Panel title="What it runs" label="What it runs">
      <div className="flex flex-col gap-3 px-4 py-3">
        <CodeBlock label="command" text={writeCommand([spec.command, ...spec.arguments])} />
        <dl className="grid gap-x-4 gap-y-1.5 sm:grid-cols-[128px_minmax(0,1fr)]">
          {kelpie === null && (
            <>
              <Fact name="Run">
                <Link href={`/runs/${encodeURIComponent(run)}`} className="font-mid hover:underline">
                  {visibleText(run)}
                </Link>
              </Fact>
              <Fact name="Watched folder">
                {spec.watch.length === 0 ? "none: no checkpoint is kept safe" : visibleText(spec.watch.join(", "))}
              </Fact>
            </>
          )}
          {spec.inputs.length > 0 && <PlacesFact name="Inputs" lines={spec.inputs.map(inputLine)} />}
          {spec.outputs.length > 0 && <PlacesFact name="Outputs" lines={spec.outputs.map(outputLine)} />}
          {spec.workingFolder !== undefined && <Fact name="Working folder">{visibleText(spec.workingFolder)}</Fact>}
          <Fact name="Policy">{limits.join(", ")}</Fact>
          <Fact name="Needs">
            {wants.length === 0 ? `any ${kelpie === null ? "node" : "Kelpie worker"} of the queue` : wants.join(", ")}
          </Fact>
          {variables.length > 0 && (
            <Fact name="Environment">
              <span className="font-mono text-12">
                {variables.map(([name, value]) => visibleText(value === "" ? name : `${name}=${value}`)).join("  ")}
              </span>
            </Fact>
          )}
          {spec.secrets.length > 0 && (
            <Fact name="Secrets">
              <span className="font-mono text-12">{spec.secrets.join("  ")}</span>
              <div className="text-12 text-faint">
                Sealed; only the node that runs the job gets the values. The owner of its machine can read them.
              </div>
            </Fact>
          )}
        </dl>
      </div>
    </Panel>
  );
}

function PlacesFact({ name, lines }: { name: string; lines: readonly string[] }) {
  return (
    <Fact name={name}>
      {lines.map((line) => (
        <div key={line} className="font-mono text-12">
          {visibleText(line)}
        </div>
      ))}
    </Fact>
  );
}

function Fact({ name, children }: { name: string; children: ReactNode }) {
  return (
    <>
      <dt className="text-soft">{name}</dt>
      <dd className="min-w-0 [overflow-wrap:anywhere]">{children}</dd>
    </>
  );
}
