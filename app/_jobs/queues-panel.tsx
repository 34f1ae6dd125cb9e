"use client";
import { useQuery, useQueryClient } from "@tanstack/react-query";
import { useState } from "react";
import { formatCount } from "#protocol/base/units.ts";
import type { JobQueueRow } from "#protocol/jobs/job-views.ts";
import { useAction } from "../_hub/actions/use-action.ts";
import { faultOf, wordsOf } from "../_hub/faults/fault-of.ts";
import { QueryFault } from "../_hub/faults/query-fault.tsx";
import { Age } from "../_hub/live/age.tsx";
import { hub } from "../_hub/queries/client.ts";
import { useWhyNot } from "../_hub/session/person.tsx";
import { Button } from "../_ui/controls/button.tsx";
import { say } from "../_ui/feedback/toast.tsx";
import { Tag } from "../_ui/indicators/tag.tsx";
import { Panel } from "../_ui/layout/panel.tsx";
import { onDemand } from "../_ui/loading/on-demand.tsx";
import { SkeletonRows } from "../_ui/loading/skeleton.tsx";
import { CountCell } from "../_ui/tables/count-cell.tsx";
import { Cell, Row, Table, type Column } from "../_ui/tables/table.tsx";
import { visibleText } from "../_ui/text/visible-text.ts";
import { queuesQuery } from "./job-queries.ts";

const CapsDialog = onDemand(() => import("./caps-dialog.tsx").then((part) => part.CapsDialog));

const COLUMNS: readonly Column[] = [
  { key: "queue", head: "Queue" },
  { key: "waiting", head: "Waiting", align: "right" },
  { key: "running", head: "Running", align: "right" },
  { key: "failed", head: "Failed", align: "right", from: "sm" },
  { key: "done", head: "Done", align: "right", from: "sm" },
  { key: "actions", head: "", label: "Actions", align: "right" },
];

/** Lists the queues with their jobs by state, pauses or resumes them, and sets their caps. Renders nothing without queues. */
export function QueuesPanel({ onChoose }: { onChoose: (queue: string) => void }) {
  const queues = useQuery(queuesQuery());
  if (queues.data === undefined && queues.isError) return <QueryFault query={queues} />;
  if (queues.data?.length === 0) return null;
  return (
    <Panel title="Queues" label="Queues">
      {queues.data === undefined ? (
        <SkeletonRows rows={1} label="Loading queues" />
      ) : (
        <Table label="Queues" columns={COLUMNS}>
          {queues.data.map((row) => (
            <QueueLine key={row.queue} row={row} onChoose={() => onChoose(row.queue)} />
          ))}
        </Table>
      )}
    </Panel>
  );
}

function QueueLine({ row, onChoose }: { row: JobQueueRow; onChoose: () => void }) {
  const client = useQueryClient();
  const whyNot = useWhyNot("operator");
  const { queue, counts, pausedAt, pausedBy } = row;
  const isPaused = pausedAt !== null;
  const change = useAction(() =>
    (isPaused ? hub.jobs.resumeQueue.mutate({ queue }) : hub.jobs.pauseQueue.mutate({ queue })).catch(
      (error: unknown) => {
        say("lost", wordsOf(faultOf(error)).says);
        throw error;
      },
    ),
  );
  const name = visibleText(queue);
  const [isCapping, setCapping] = useState(false);
  const caps = capWords(row);
  return (
    <Row>
      <Cell className="max-w-24 truncate sm:max-w-56">
        <button type="button" className="font-mid hover:underline" onClick={onChoose}>
          {name}
        </button>
        {isPaused && (
          <span className="ml-2 inline-flex items-center gap-2">
            <Tag tone="risk">paused</Tag>
            <span className="text-12 text-faint max-md:hidden">
              <Age at={pausedAt} />
              {pausedBy !== null && ` by ${visibleText(pausedBy)}`}
            </span>
          </span>
        )}
        {caps !== null && <div className="nums text-12 whitespace-normal text-faint">{caps}</div>}
      </Cell>
      <CountCell count={counts.waiting} />
      <CountCell count={counts.running} />
      <CountCell from="sm" className="text-soft" count={counts.failed} />
      <CountCell from="sm" className="text-soft" count={counts.done} />
      <Cell align="right">
        <span className="inline-flex flex-col items-end gap-2 sm:flex-row">
          <Button size="small" whyNot={whyNot} aria-label={`Caps of queue ${name}`} onClick={() => setCapping(true)}>
            Caps…
          </Button>
          <Button
            size="small"
            whyNot={whyNot}
            disabled={change.busy}
            aria-label={`${isPaused ? "Resume" : "Pause"} queue ${name}`}
            onClick={() => change.run(undefined, () => void client.invalidateQueries({ queryKey: ["jobs"] }))}
          >
            {isPaused ? "Resume" : "Pause"}
          </Button>
        </span>
        {isCapping && <CapsDialog row={row} onClose={() => setCapping(false)} />}
      </Cell>
    </Row>
  );
}

/** Returns the caps of a queue in words: `8 run at most, 2 of one person`; null without any. */
function capWords({ mostRunning, mostPerOwner }: Pick<JobQueueRow, "mostRunning" | "mostPerOwner">): string | null {
  const all = mostRunning === null ? null : `${formatCount(mostRunning)} run at most`;
  const each = mostPerOwner === null ? null : `${formatCount(mostPerOwner)} of one person`;
  if (all === null) return each === null ? null : `${each} at most`;
  return each === null ? all : `${all}, ${each}`;
}
