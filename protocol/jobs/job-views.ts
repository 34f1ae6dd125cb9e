import * as z from "zod";
import { addressText, rowNumber } from "../base/bounded.ts";
import { id, runName } from "../base/names.ts";
import { jobSubmission, queueName, type JobSpec } from "./job-spec.ts";
import { jobState, JOB_STATES, type AttemptOutcome, type JobState } from "./job-states.ts";

/** Inputs of the procedures about jobs that people call, and what they see. */

export const MOST_SUBMITTED = 1_000;
export const submitJobsInput = z.object({ jobs: z.array(jobSubmission).min(1).max(MOST_SUBMITTED) });

export interface SubmittedJob {
  id: string;
  /** Number in the order of submission. */
  number: number;
  run: string;
  queue: string;
  state: JobState;
  /** False: an earlier submission with the same idempotency key made it. */
  isNew: boolean;
}

export const jobFilter = z.object({
  /** Empty: all. */
  states: z.array(jobState).max(JOB_STATES.length).default([]),
  queue: queueName.nullable().default(null),
  run: runName.nullable().default(null),
  label: z
    .object({ name: z.string().min(1).max(32), value: z.string().max(128) })
    .nullable()
    .default(null),
  /** E-mail address of the person who submitted it. */
  owner: z.string().max(254).nullable().default(null),
  /** Part of the name. */
  words: addressText(128).trim().default(""),
});
export type JobFilter = z.infer<typeof jobFilter>;

export const listJobsInput = jobFilter.extend({
  /** `number` of the last row of the previous page. Newest first. */
  cursor: rowNumber.nullable().default(null),
  limit: z.number().int().min(1).max(200).default(50),
});

export const changeJobsInput = z.object({
  which: z.union([z.object({ ids: z.array(id).min(1).max(1_000) }), z.object({ filter: jobFilter })]),
  /** Counts the jobs without changing them. */
  dryRun: z.boolean().default(false),
});

export interface ChangedJobs {
  /** Jobs that were chosen. */
  found: number;
  /** Number of jobs that were changed; with `dryRun`, that would be. The others are in another state. */
  changed: number;
  /** Number of running jobs among these. */
  running: number;
}

export const byQueue = z.object({ queue: queueName });

/** Most running jobs of a queue; null: any number. */
const cap = z.number().int().min(1).max(1_000_000).nullable();
export const setQueueCapsInput = byQueue.extend({
  mostRunning: cap,
  /** Counts those of one person in the queue. */
  mostPerOwner: cap,
});

export interface JobKelpie {
  /** The id that the worker of the last attempt gave for its machine; null before the first. */
  machine: string | null;
  /** Epoch ms of the last heartbeat, and their number. */
  heartbeatAt: number | null;
  heartbeats: number;
}

/** A node, or the machine of a Kelpie worker, whose id is null. */
export interface JobPlace {
  id: string | null;
  name: string;
}

export interface JobRow {
  id: string;
  number: number;
  queue: string;
  name: string;
  run: string;
  state: JobState;
  priority: number;
  labels: Record<string, string>;
  owner: string;
  /** Failures that count toward the policy, and attempts so far. */
  failures: number;
  mostFailures: number;
  attempts: number;
  /** The node of the running attempt, or of the last one. */
  node: { id: string; name: string } | null;
  /** A job of the Kelpie-compatible API: its worker synchronizes its data, and nothing of it is verified. Null for the others. */
  kelpie: JobKelpie | null;
  /** Why it waits, or why its last attempt ended; null when there is nothing to say. */
  reason: string | null;
  /** Epoch ms. `dueAt`: a waiting job is not handed out before; null for the others, and while it follows another job. */
  createdAt: number;
  dueAt: number | null;
  startedAt: number | null;
  endedAt: number | null;
}

export interface JobAttemptRow {
  attempt: number;
  node: JobPlace;
  epoch: number | null;
  startedAt: number;
  endedAt: number | null;
  /** Null while it runs. */
  outcome: AttemptOutcome | null;
  reason: string | null;
  exitCode: number | null;
  signal: string | null;
  fromStep: number | null;
  toStep: number | null;
  safeStep: number | null;
}

export interface JobBanRow {
  node: JobPlace;
  until: number;
  reason: string;
}

/** A job that another one follows, or that follows it. */
export interface JobLink {
  id: string;
  name: string;
  state: JobState;
}

export interface JobDetail extends JobRow {
  /** For viewers the values of `environment` are empty. Null: it cannot be read, and no node is given the job. */
  spec: JobSpec | null;
  /** Newest first, 200 at most. */
  attemptRows: JobAttemptRow[];
  bans: JobBanRow[];
  /** The jobs that have to be done before it, and those that wait for it; 200 of each at most. */
  after: JobLink[];
  followers: JobLink[];
  /** Why no node takes it now, as a sentence without its end; null where `reason` says it, and for jobs that do not wait. */
  waits: string | null;
}

export interface JobQueueRow {
  queue: string;
  counts: Record<JobState, number>;
  pausedAt: number | null;
  pausedBy: string | null;
  /** Most running jobs, and of one person; null: any number. */
  mostRunning: number | null;
  mostPerOwner: number | null;
}
