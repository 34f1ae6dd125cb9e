"use client";
import { useQuery } from "@tanstack/react-query";
import { formatCount } from "#protocol/base/units.ts";
import type { JobState } from "#protocol/jobs/job-states.ts";
import { queuesQuery } from "../_jobs/job-queries.ts";
import { JOB_LOOKS } from "../_jobs/job-words.ts";
import { Tag } from "../_ui/indicators/tag.tsx";
import { Panel } from "../_ui/layout/panel.tsx";
import { Link } from "../_ui/navigation/link.tsx";

const SHOWN: readonly JobState[] = ["running", "waiting", "failed"];

/** Shows how many jobs run, wait and have failed. Renders nothing when there are none. */
export function JobsPanel() {
  const queues = useQuery(queuesQuery()).data ?? [];
  const countOf = (state: JobState): number => queues.reduce((sum, { counts }) => sum + counts[state], 0);
  if (SHOWN.every((state) => countOf(state) === 0)) return null;
  const paused = queues.filter(({ pausedAt }) => pausedAt !== null).length;
  return (
    <Panel
      title="Jobs"
      label="Jobs"
      note={
        paused > 0 && <span className="nums">{paused === 1 ? "1 queue is paused" : `${paused} queues are paused`}</span>
      }
    >
      <ul className="flex flex-wrap gap-x-8 gap-y-2 px-4 py-3">
        {SHOWN.map((state) => (
          <li key={state} className="flex items-center gap-2">
            <Link href={`/jobs?show=${state}`} className="nums font-mid hover:underline">
              {formatCount(countOf(state))}
            </Link>
            <Tag tone={JOB_LOOKS[state].tone}>{JOB_LOOKS[state].text}</Tag>
          </li>
        ))}
      </ul>
    </Panel>
  );
}
