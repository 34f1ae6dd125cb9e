"use client";
import { useQuery, useQueryClient } from "@tanstack/react-query";
import { formatCount } from "#protocol/base/units.ts";
import type { ChangedJobs, JobFilter } from "#protocol/jobs/job-views.ts";
import { useAction } from "../_hub/actions/use-action.ts";
import { FaultNote } from "../_hub/faults/fault-note.tsx";
import { QueryFault } from "../_hub/faults/query-fault.tsx";
import { hub } from "../_hub/queries/client.ts";
import { Button } from "../_ui/controls/button.tsx";
import { say } from "../_ui/feedback/toast.tsx";
import { Dialog } from "../_ui/layout/dialog.tsx";
import { SkeletonRows } from "../_ui/loading/skeleton.tsx";

export type JobChange = "cancel" | "retry";
type Which = { ids: string[] } | { filter: JobFilter };

interface ChangeJobsDialogProps {
  change: JobChange;
  which: Which;
  onClose: () => void;
}

const ask = (change: JobChange, input: { which: Which; dryRun: boolean }): Promise<ChangedJobs> =>
  change === "cancel" ? hub.jobs.cancel.mutate(input) : hub.jobs.retry.mutate(input);

const WORDS = {
  cancel: {
    verb: "Cancel",
    busy: "Canceling",
    done: "canceled",
    none: "None of these jobs waits or runs.",
    effect: "A canceled job stays canceled. Its checkpoints stay.",
  },
  retry: {
    verb: "Retry",
    busy: "Retrying",
    done: "waiting again",
    none: "None of these jobs has failed.",
    effect: "They wait again, with no failure counted, and go on from the newest safe checkpoints of their runs.",
  },
} as const;

const jobsWords = (count: number): string => (count === 1 ? "1 job" : `${formatCount(count)} jobs`);

/** Shows how many jobs a change concerns, and asks before it changes them. */
export function ChangeJobsDialog({ change, which, onClose }: ChangeJobsDialogProps) {
  const client = useQueryClient();
  const words = WORDS[change];
  const effect = useQuery({
    queryKey: ["jobs", "effect", change, which],
    queryFn: () => ask(change, { which, dryRun: true }),
    staleTime: 0,
  });
  const act = useAction(() => ask(change, { which, dryRun: false }));
  const count = effect.data?.changed ?? 0;
  return (
    <Dialog
      open
      onClose={onClose}
      width="narrow"
      title={effect.data === undefined || count === 0 ? `${words.verb} jobs` : `${words.verb} ${jobsWords(count)}?`}
      footer={
        <>
          <span className="flex-1" />
          <Button onClick={onClose}>Keep them</Button>
          <Button
            look={change === "cancel" ? "danger" : "main"}
            disabled={act.busy || count === 0}
            onClick={() =>
              act.run(undefined, ({ changed }) => {
                say("quiet", `${jobsWords(changed)} ${changed === 1 ? "is" : "are"} ${words.done}.`);
                void client.invalidateQueries({ queryKey: ["jobs"] });
                onClose();
              })
            }
          >
            {act.busy ? words.busy : words.verb}
          </Button>
        </>
      }
    >
      <div className="flex flex-col gap-3">
        {effect.data !== undefined ? (
          <Effect change={change} effect={effect.data} />
        ) : effect.isError ? (
          <QueryFault query={effect} />
        ) : (
          <SkeletonRows rows={2} label="Counting jobs" />
        )}
        {act.fault !== null && <FaultNote fault={act.fault} />}
      </div>
    </Dialog>
  );
}

function Effect({ change, effect: { found, changed, running } }: { change: JobChange; effect: ChangedJobs }) {
  const words = WORDS[change];
  const others = found - changed;
  if (changed === 0) return <p>{words.none}</p>;
  return (
    <>
      {running > 0 && (
        <p className="nums">
          {jobsWords(running)} of these {running === 1 ? "runs" : "run"} now: the program gets SIGTERM and may save
          before it ends.
        </p>
      )}
      <p>{words.effect}</p>
      {others > 0 && <p className="nums text-soft">{jobsWords(others)} in another state stay as they are.</p>}
    </>
  );
}
