import { shownStep } from "#protocol/checkpoint/step-words.ts";
import type { AttemptOutcome, JobState } from "#protocol/jobs/job-states.ts";
import type { JobAttemptRow, JobFilter, JobRow } from "#protocol/jobs/job-views.ts";
import { visibleText } from "../_ui/text/visible-text.ts";
import type { Tone } from "../_ui/indicators/mark.tsx";

/** Words for jobs and their attempts. */

export interface JobLook {
  tone: Tone;
  text: string;
}

export const JOB_LOOKS: Readonly<Record<JobState, JobLook>> = {
  waiting: { tone: "quiet", text: "waiting" },
  running: { tone: "moving", text: "running" },
  done: { tone: "safe", text: "done" },
  failed: { tone: "lost", text: "failed" },
  canceled: { tone: "quiet", text: "canceled" },
};

const OUTCOME_LOOKS: Readonly<Record<AttemptOutcome, JobLook>> = {
  completed: { tone: "safe", text: "completed" },
  failed: { tone: "lost", text: "failed" },
  interrupted: { tone: "risk", text: "interrupted" },
  canceled: { tone: "quiet", text: "canceled" },
};

export const attemptLook = ({ outcome }: Pick<JobAttemptRow, "outcome">): JobLook =>
  outcome === null ? JOB_LOOKS.running : OUTCOME_LOOKS[outcome];

/** Says that the worker of a Kelpie job moves its data, which the hub does not verify. */
export const KELPIE_WORDS = "synced by Kelpie, not verified";

/** Returns why a job waits or has failed; null when its state says everything. */
export const whyWords = ({ state, reason }: Pick<JobRow, "state" | "reason">): string | null =>
  reason === null || state === "done" || state === "canceled" ? null : visibleText(reason);

/** Filters of the page by state, in the order of their words. */
export const JOB_FILTERS: readonly { id: string; label: string; states: readonly JobState[] }[] = [
  { id: "all", label: "All", states: [] },
  { id: "waiting", label: "Waiting", states: ["waiting"] },
  { id: "running", label: "Running", states: ["running"] },
  { id: "failed", label: "Failed", states: ["failed"] },
  { id: "done", label: "Done", states: ["done"] },
  { id: "canceled", label: "Canceled", states: ["canceled"] },
];

/** Filter of the jobs page; empty words match every job. */
export interface JobsAsked {
  show: string;
  queue: string;
  owner: string;
  words: string;
}

/** Returns the filter as input for the hub. */
export function askedBy({ show, queue, owner, words }: JobsAsked): JobFilter {
  const states = JOB_FILTERS.find(({ id }) => id === show)?.states ?? [];
  return {
    states: [...states],
    queue: queue === "" ? null : queue,
    owner: owner === "" ? null : owner,
    run: null,
    label: null,
    words,
  };
}

/** Returns how the program of an attempt ended: `exit code 1`, `SIGKILL`; null while it runs or when nobody knows. */
export function endWords({ exitCode, signal }: Pick<JobAttemptRow, "exitCode" | "signal">): string | null {
  if (signal !== null) return signal;
  return exitCode === null ? null : `exit code ${exitCode}`;
}

/** Returns the steps of an attempt: `0 to 400, safe up to 380`. */
export function stepsWords({ fromStep, toStep, safeStep }: JobAttemptRow): string {
  const from = fromStep === null ? "the beginning" : shownStep(fromStep);
  if (toStep === null && safeStep === null) return fromStep === null ? "–" : `from ${from}`;
  const to = toStep === null ? "" : ` to ${shownStep(toStep)}`;
  return `from ${from}${to}${safeStep === null ? "" : `, safe up to ${shownStep(safeStep)}`}`;
}
