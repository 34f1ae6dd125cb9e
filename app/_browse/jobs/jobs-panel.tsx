"use client";
import { useQuery, useQueryClient } from "@tanstack/react-query";
import type { BucketJobView } from "#protocol/buckets/bucket-jobs.ts";
import { takesAway } from "#protocol/buckets/bucket-verbs.ts";
import { Age } from "../../_hub/live/age.tsx";
import { hub } from "../../_hub/queries/client.ts";
import { FaultDetails } from "../../_hub/faults/fault-note.tsx";
import { faultOf, wordsOf } from "../../_hub/faults/fault-of.ts";
import { useWhyNot } from "../../_hub/session/person.tsx";
import { useAction } from "../../_hub/actions/use-action.ts";
import { Button } from "../../_ui/controls/button.tsx";
import { Mark } from "../../_ui/indicators/mark.tsx";
import { Panel } from "../../_ui/layout/panel.tsx";
import { say } from "../../_ui/feedback/toast.tsx";
import { shortText, visibleText } from "../../_ui/text/visible-text.ts";
import { isJobOpen, jobFacts, jobSentence, jobTone } from "./job-words.ts";

const STATE: Readonly<Record<BucketJobView["state"], string>> = {
  planning: "is planned",
  planned: "not confirmed",
  waiting: "waiting",
  running: "running",
  done: "done",
  failed: "failed",
  cancelled: "cancelled",
  expired: "not confirmed in time",
};

/** Lists running and recent bucket jobs of the hub. Renders nothing without jobs. */
export function JobsPanel({ profileId }: { profileId: string | null }) {
  const jobs = useQuery({
    queryKey: ["transfers", "bucket-jobs", profileId],
    queryFn: () => hub.bucket.jobs.query({ profileId }),
    refetchInterval: (query) => (query.state.data?.some(isJobOpen) === true ? 2000 : false),
  });
  const rows = jobs.data ?? [];
  if (rows.length === 0) return null;
  return (
    <Panel title="Work in buckets" note="Runs on the hub. You can close this page." label="Work in buckets">
      <ul className="divide-y divide-line">
        {rows.map((job) => (
          <JobLine key={job.id} job={job} />
        ))}
      </ul>
    </Panel>
  );
}

/** Returns the progress by bytes for copies, by objects for deletions: deleting takes the same time for any size. */
function progressOf({ action, plan, ...job }: BucketJobView): { value: number; max: number } {
  const bytes = plan?.bytes ?? 0;
  return action === "delete" || bytes === 0
    ? { value: job.doneObjects + job.failedObjects, max: plan?.objects ?? 0 }
    : { value: job.doneBytes, max: bytes };
}

function JobLine({ job }: { job: BucketJobView }) {
  const client = useQueryClient();
  const whyNot = useWhyNot(takesAway(job.action) ? "admin" : "operator");
  const cancel = useAction(() =>
    hub.bucket.cancel.mutate({ id: job.id }).catch((error: unknown) => {
      say("lost", wordsOf(faultOf(error)).says);
      throw error;
    }),
  );
  const total = job.plan?.objects ?? 0;
  return (
    <li className="flex gap-2.5 px-4 py-3" aria-label={jobSentence(job)}>
      <Mark tone={jobTone(job)} className="mt-[5px]" label={job.state} />
      <div className="min-w-0 flex-1">
        <div className="flex flex-wrap items-baseline gap-x-4">
          <span className="min-w-0 flex-1 basis-72 [overflow-wrap:anywhere]" dir="ltr">
            {jobSentence(job)} <span className="text-faint">in {visibleText(job.profileName)}</span>
          </span>
          <span className="nums whitespace-nowrap text-soft">
            {STATE[job.state]} {job.endedAt !== null && <Age at={job.endedAt} />}
          </span>
        </div>
        {isJobOpen(job) && total > 0 && (
          <progress
            className="mt-1.5 block h-1 w-full accent-moving"
            aria-label={`Progress of ${jobSentence(job)}`}
            {...progressOf(job)}
          />
        )}
        <div className="flex flex-wrap items-center gap-x-3 gap-y-1 pt-1">
          <span className="nums min-w-0 flex-1 basis-64 text-12 text-faint">{visibleText(jobFacts(job))}</span>
          {isJobOpen(job) && (
            <Button
              size="small"
              disabled={whyNot !== null || cancel.busy}
              title={whyNot ?? undefined}
              aria-label={`Cancel: ${jobSentence(job)}`}
              onClick={() =>
                cancel.run(undefined, () => void client.invalidateQueries({ queryKey: ["transfers", "bucket-jobs"] }))
              }
            >
              Cancel
            </Button>
          )}
        </div>
        {job.fault !== null && (
          <div className="pt-1 text-12 text-soft">
            {visibleText(wordsOf(job.fault).says)} {wordsOf(job.fault).next}
            <FaultDetails fault={job.fault} />
          </div>
        )}
        {job.faults.length > 0 && (
          <details className="pt-1 text-12">
            <summary className="w-fit text-faint">What stayed as it was, and why</summary>
            <ul className="pt-1">
              {job.faults.map(({ key, fault }) => (
                <li key={key} className="flex flex-wrap gap-x-2 py-0.5">
                  <span className="min-w-0 font-mono [overflow-wrap:anywhere]" dir="ltr">
                    {shortText(key, 160)}
                  </span>
                  <span className="text-faint">{visibleText(wordsOf({ ...fault, subject: undefined }).says)}</span>
                </li>
              ))}
              {job.failedObjects > job.faults.length && (
                <li className="nums text-faint">and {job.failedObjects - job.faults.length} more</li>
              )}
            </ul>
          </details>
        )}
      </div>
    </li>
  );
}
