"use client";
import { useQuery } from "@tanstack/react-query";
import { useState } from "react";
import type { JobDetail } from "#protocol/jobs/job-views.ts";
import { runMetricsQuery } from "../_hub/queries/queries.ts";
import { MetricsPanel } from "../_runs/metrics-panel.tsx";
import type { StepRange } from "../_runs/step-range.ts";

/** Shows the metrics of the checkpoints of a job's run, such as its loss; nothing while no checkpoint has one. */
export function JobMetrics({ job: { run, attemptRows } }: { job: Pick<JobDetail, "run" | "attemptRows"> }) {
  const [range, setRange] = useState<StepRange | null>(null);
  const found = useQuery(runMetricsQuery({ run, names: [], steps: null }));
  if (found.data === undefined || found.data.names.length === 0) return null;
  const lastStep = Math.max(0, ...attemptRows.map(({ toStep }) => toStep ?? 0));
  return <MetricsPanel run={run} range={range} lastStep={lastStep} onRange={setRange} />;
}
