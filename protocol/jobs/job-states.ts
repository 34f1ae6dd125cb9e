import * as z from "zod";

/** States of jobs and outcomes of their attempts. Every change of a job's state is a row of `JOB_MOVES`. */

export const JOB_STATES = ["waiting", "running", "done", "failed", "canceled"] as const;
export const jobState = z.enum(JOB_STATES);
export type JobState = z.infer<typeof jobState>;

/** Causes of a job's transitions: the hub, when it hands the job out or ends an attempt; a node's report; a person. */
export type JobMover = "hub" | "node" | "person";

export interface JobMove {
  from: JobState;
  to: JobState;
  by: JobMover;
  when: string;
}

export const JOB_MOVES: readonly JobMove[] = [
  { from: "waiting", to: "running", by: "hub", when: "it is handed to a node, whose claim of the run is the lease" },
  { from: "waiting", to: "running", by: "node", when: "its silent node reports again before another node has the job" },
  {
    from: "waiting",
    to: "done",
    by: "node",
    when: "its silent node reports a complete end before another has the job",
  },
  { from: "running", to: "done", by: "node", when: "its program ended with code 0 under the current lease" },
  { from: "running", to: "failed", by: "node", when: "its program failed and its policy allows no further attempt" },
  { from: "running", to: "waiting", by: "node", when: "its program failed and its policy allows a further attempt" },
  {
    from: "running",
    to: "waiting",
    by: "hub",
    when: "its attempt was interrupted, or ran too long without the last try",
  },
  {
    from: "running",
    to: "failed",
    by: "hub",
    when: "its last attempt ran too long or made no progress, or its spec cannot be read",
  },
  {
    from: "waiting",
    to: "failed",
    by: "hub",
    when: "a job that it follows failed or was canceled",
  },
  { from: "waiting", to: "canceled", by: "person", when: "somebody cancels it" },
  { from: "running", to: "canceled", by: "person", when: "somebody cancels it" },
  { from: "failed", to: "waiting", by: "person", when: "somebody retries it, with no failure counted" },
];

/** Returns the states from which a job may reach `to`. */
export const jobStatesBefore = (to: JobState, by: JobMover): JobState[] => [
  ...new Set(JOB_MOVES.filter((move) => move.to === to && move.by === by).map(({ from }) => from)),
];

/**
 * Outcomes of attempts. `interrupted`: the node vanished, stopped, started again or lost the run; never counted as a failure.
 */
export const ATTEMPT_OUTCOMES = ["completed", "failed", "interrupted", "canceled"] as const;
export const attemptOutcome = z.enum(ATTEMPT_OUTCOMES);
export type AttemptOutcome = z.infer<typeof attemptOutcome>;
