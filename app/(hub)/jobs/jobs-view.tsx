"use client";
import { useQuery } from "@tanstack/react-query";
import { useState } from "react";
import { formatCount } from "#protocol/base/units.ts";
import type { JobState } from "#protocol/jobs/job-states.ts";
import type { JobQueueRow } from "#protocol/jobs/job-views.ts";
import { useAddressWord, useAddressWords } from "../../_hub/address/address.ts";
import { Listed } from "../../_hub/queries/listed.tsx";
import { useWhyNot } from "../../_hub/session/person.tsx";
import type { JobChange } from "../../_jobs/change-jobs-dialog.tsx";
import { queuesQuery, useJobPages } from "../../_jobs/job-queries.ts";
import { askedBy, JOB_FILTERS } from "../../_jobs/job-words.ts";
import { PageHead } from "../../_shell/page-head.tsx";
import { Button } from "../../_ui/controls/button.tsx";
import { FilterWords } from "../../_ui/controls/filter-words.tsx";
import { PlainSelect } from "../../_ui/controls/plain-select.tsx";
import { SearchField } from "../../_ui/controls/search-field.tsx";
import { Empty, Panel } from "../../_ui/layout/panel.tsx";
import { onDemand, onItsWay } from "../../_ui/loading/on-demand.tsx";
import { SkeletonRows } from "../../_ui/loading/skeleton.tsx";

const QueuesPanel = onItsWay(() => import("../../_jobs/queues-panel.tsx").then((part) => part.QueuesPanel));
const SchedulesPanel = onItsWay(() => import("../../_jobs/schedules-panel.tsx").then((part) => part.SchedulesPanel));
const JobTable = onItsWay(
  () => import("../../_jobs/job-table.tsx").then((part) => part.JobTable),
  ({ rows }) => <SkeletonRows rows={Math.min(8, rows.length)} label="Loading jobs" table />,
);
const CodeBlock = onDemand(() => import("../../_ui/layout/code-block.tsx").then((part) => part.CodeBlock));
const SubmitDialog = onDemand(() => import("../../_jobs/submit-dialog.tsx").then((part) => part.SubmitDialog));
const ChangeJobsDialog = onDemand(() =>
  import("../../_jobs/change-jobs-dialog.tsx").then((part) => part.ChangeJobsDialog),
);

const EVERY_QUEUE = "any";

/** Returns how many jobs are in a state, in one queue or, with an empty name, in all. */
const countOf = (queues: readonly JobQueueRow[], { queue, states }: { queue: string; states: readonly JobState[] }) =>
  queues
    .filter((one) => queue === "" || one.queue === queue)
    .flatMap(({ counts }) => Object.entries(counts))
    .filter(([state]) => states.length === 0 || states.some((one) => one === state))
    .reduce((sum, [, count]) => sum + count, 0);

/** Lists jobs with filters by state, queue, owner and words, and the queues. */
export function JobsView() {
  const [show, setShow] = useAddressWord("show", "all");
  const [queue, setQueue] = useAddressWord("queue", "");
  const [words, setWords] = useAddressWord("q", "", "same");
  const [owner, setOwner] = useAddressWord("owner", "", "same");
  const [dialog, setDialog] = useAddressWord("do", "", "same");
  const [change, setChange] = useState<JobChange | null>(null);
  const clear = useAddressWords();
  const whyNot = useWhyNot("operator");
  const asked = { show, queue, owner, words };
  const isFiltered = show !== "all" || queue !== "" || owner !== "" || words !== "";
  const pages = useJobPages(asked);
  const queues = useQuery(queuesQuery()).data ?? [];
  const rows = pages.data?.pages.flatMap((page) => page.rows) ?? null;
  return (
    <>
      <PageHead
        title="Jobs"
        about="Commands that the hub hands to nodes, one node at a time, until they are complete. An interrupted job goes on at another node from its newest safe checkpoint."
        actions={
          <Button look="main" whyNot={whyNot} onClick={() => setDialog("submit")}>
            Submit a job
          </Button>
        }
      />
      <QueuesPanel onChoose={setQueue} />
      <SchedulesPanel />
      <Panel
        label="Jobs"
        title="Jobs"
        side={
          <FilterWords
            label="Show"
            value={JOB_FILTERS.some(({ id }) => id === show) ? show : "all"}
            onChange={setShow}
            words={JOB_FILTERS.map(({ id, label, states }) => ({
              id,
              label,
              count: countOf(queues, { queue, states }),
            }))}
          />
        }
      >
        <div className="flex flex-wrap items-center gap-x-3 gap-y-2 border-b border-line px-4 py-2.5">
          <SearchField label="Search jobs" value={words} onChange={setWords} placeholder="Part of a name" />
          <div className="w-full sm:w-40">
            <PlainSelect
              label="Queue"
              placeholder="Queue"
              value={queue === "" ? EVERY_QUEUE : queue}
              choices={[
                { value: EVERY_QUEUE, label: "All queues" },
                ...queues.map((one) => ({ value: one.queue, label: one.queue })),
              ]}
              onChange={(value) => setQueue(value === EVERY_QUEUE ? "" : value)}
            />
          </div>
          <SearchField label="Submitted by" width="short" value={owner} onChange={setOwner} placeholder="E-mail" />
          {isFiltered && (
            <Button look="quiet" size="small" onClick={() => clear({})}>
              Clear
            </Button>
          )}
          <span className="ml-auto flex gap-2">
            <Button size="small" whyNot={whyNot} onClick={() => setChange("retry")}>
              Retry…
            </Button>
            <Button size="small" whyNot={whyNot} onClick={() => setChange("cancel")}>
              Cancel…
            </Button>
          </span>
        </div>
        <Listed
          query={pages}
          rows={rows}
          loading={{ label: "Loading jobs", rows: 8 }}
          empty={
            isFiltered ? (
              <Empty title="No job fits" action={<Button onClick={() => clear({})}>Show all jobs</Button>}>
                No job fits all of these filters.
              </Empty>
            ) : (
              <Empty title="No jobs yet">
                <p>Submit a job here, or on a command line. A node takes jobs with:</p>
                <div className="mt-2">
                  <CodeBlock label="command for a node" text="tidemark work --queue default" />
                </div>
              </Empty>
            )
          }
          note={pages.hasNextPage ? `${formatCount(rows?.length ?? 0)} shown` : undefined}
        >
          {(listed) => <JobTable rows={listed} />}
        </Listed>
      </Panel>
      {dialog === "submit" && <SubmitDialog queue={queue} onClose={() => setDialog("")} />}
      {change !== null && (
        <ChangeJobsDialog change={change} which={{ filter: askedBy(asked) }} onClose={() => setChange(null)} />
      )}
    </>
  );
}
