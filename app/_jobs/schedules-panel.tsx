"use client";
import { useQuery, useQueryClient } from "@tanstack/react-query";
import { useState } from "react";
import type { JobScheduleRow } from "#protocol/jobs/schedules.ts";
import { useAction } from "../_hub/actions/use-action.ts";
import { faultOf, wordsOf } from "../_hub/faults/fault-of.ts";
import { QueryFault } from "../_hub/faults/query-fault.tsx";
import { hub } from "../_hub/queries/client.ts";
import { useWhyNot } from "../_hub/session/person.tsx";
import { Button } from "../_ui/controls/button.tsx";
import { say } from "../_ui/feedback/toast.tsx";
import { Tag } from "../_ui/indicators/tag.tsx";
import { Dialog } from "../_ui/layout/dialog.tsx";
import { Panel } from "../_ui/layout/panel.tsx";
import { Link } from "../_ui/navigation/link.tsx";
import { clockTime, fullTime, shortDay } from "../_ui/text/times.ts";
import { visibleText } from "../_ui/text/visible-text.ts";
import { schedulesQuery } from "./job-queries.ts";
import { JOB_LOOKS } from "./job-words.ts";

/** Lists the schedules, and pauses, resumes or removes them. Renders nothing without any. */
export function SchedulesPanel() {
  const schedules = useQuery(schedulesQuery());
  if (schedules.data === undefined) return schedules.isError ? <QueryFault query={schedules} /> : null;
  if (schedules.data.length === 0) return null;
  return (
    <Panel title="Schedules" label="Schedules">
      <ul className="divide-y divide-line">
        {schedules.data.map((row) => (
          <ScheduleLine key={row.name} row={row} />
        ))}
      </ul>
    </Panel>
  );
}

function ScheduleLine({ row }: { row: JobScheduleRow }) {
  const client = useQueryClient();
  const whyNot = useWhyNot("operator");
  const [isRemoving, setRemoving] = useState(false);
  const { name, pausedAt, lastJob, nextAt, problem } = row;
  const isPaused = pausedAt !== null;
  const shown = visibleText(name);
  const tell = (error: unknown): never => {
    say("lost", wordsOf(faultOf(error)).says);
    throw error;
  };
  const refresh = () => void client.invalidateQueries({ queryKey: ["jobs"] });
  const pause = useAction(() => hub.jobs.pauseSchedule.mutate({ name, isPaused: !isPaused }).catch(tell));
  const remove = useAction(() => hub.jobs.removeSchedule.mutate({ name }).catch(tell));
  return (
    <li className="flex flex-wrap items-center gap-x-3 gap-y-2 px-4 py-2">
      <div className="min-w-0 flex-1 basis-64">
        <span className="font-mid">{shown}</span>
        {isPaused && (
          <span className="ml-2">
            <Tag tone="risk">paused</Tag>
          </span>
        )}
        <div className="nums text-12 [overflow-wrap:anywhere] text-faint">
          <span className="font-mono">{visibleText(row.cron)}</span> {visibleText(row.timeZone)}
          {nextAt !== null && (
            <>
              {" · next at "}
              <time dateTime={new Date(nextAt).toISOString()} title={fullTime(nextAt)}>
                {shortDay(nextAt)}, {clockTime(nextAt)}
              </time>
            </>
          )}
          {" · "}
          {visibleText(row.queue)} · {visibleText(row.owner)}
          {row.secrets.length > 0 && ` · secrets: ${row.secrets.join(", ")}`}
        </div>
        {problem !== null && <div className="text-12 [overflow-wrap:anywhere] text-risk">{visibleText(problem)}</div>}
      </div>
      {lastJob !== null && (
        <Link href={`/jobs/${encodeURIComponent(lastJob.id)}`} aria-label={`Last job of ${shown}`}>
          <Tag tone={JOB_LOOKS[lastJob.state].tone}>{JOB_LOOKS[lastJob.state].text}</Tag>
        </Link>
      )}
      <span className="flex gap-2">
        <Button
          size="small"
          whyNot={whyNot}
          disabled={pause.busy}
          aria-label={`${isPaused ? "Resume" : "Pause"} schedule ${shown}`}
          onClick={() => pause.run(undefined, refresh)}
        >
          {isPaused ? "Resume" : "Pause"}
        </Button>
        <Button size="small" whyNot={whyNot} aria-label={`Remove schedule ${shown}`} onClick={() => setRemoving(true)}>
          Remove…
        </Button>
      </span>
      {isRemoving && (
        <Dialog
          open
          onClose={() => setRemoving(false)}
          title={`Remove the schedule ${shown}?`}
          intro="No further job is submitted. The jobs that it has submitted stay."
          footer={
            <>
              <span className="flex-1" />
              <Button onClick={() => setRemoving(false)}>Keep it</Button>
              <Button look="danger" disabled={remove.busy} onClick={() => remove.run(undefined, refresh)}>
                Remove
              </Button>
            </>
          }
        >
          {null}
        </Dialog>
      )}
    </li>
  );
}
