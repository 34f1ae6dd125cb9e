import * as z from "zod";
import { byteCount } from "../base/bounded.ts";
import { id, step, writerEpoch } from "../base/names.ts";
import type { ClaimAnswer } from "../wire/hello.ts";
import { queueName, type JobSecrets, type JobSpec } from "./job-spec.ts";
import type { AttemptOutcome } from "./job-states.ts";

/**
 * Calls of a node about jobs. The lease of a job is the writer epoch of its run: handing the job out claims the run for the
 * node. A node asks about its attempts at least every `JOB_POLL_MS`; the hub interrupts an attempt that nobody asked about
 * for `JOB_LEASE_MS`.
 */

export const JOB_POLL_MS = 10_000;
export const JOB_LEASE_MS = 60_000;
export const LONGEST_TAKE_SECONDS = 25;
/** A node whose job the hub looks for without an open call asks again after this time. */
export const ASK_AGAIN_MS = 600_000;
/** Largest number of attempts that one node has at the same time. */
export const MOST_HELD = 64;

/** Number of an attempt of a job, counted from 1. */
export const attemptNumber = z.number().int().min(1).max(1_000_000);

const held = z.object({ jobId: id, attempt: attemptNumber });
export type HeldAttempt = z.infer<typeof held>;

/**
 * `node.takeJob`: asks for one job and waits for it. A worker has at most one such call open.
 *
 * `bootId` is new at every start of the worker. Open attempts of an earlier `bootId` of this node end as interrupted. An open
 * attempt of the same `bootId` that `holds` does not name is handed out again under its number: its answer was lost.
 */
export const takeJobInput = z.object({
  bootId: id,
  queue: queueName,
  /** Attempts that this worker runs or drains. */
  holds: z.array(held).max(MOST_HELD),
  waitSeconds: z.number().int().min(0).max(LONGEST_TAKE_SECONDS).default(0),
  /** The node holds its stream and asks again when a message `job` comes on it; absent: an older one, which only waits. */
  listens: z.literal(true).optional(),
  /** The node takes no job now: the hub stops looking for it, and answers at once without one. */
  ends: z.literal(true).optional(),
  /** Memory of the GPU that the job would get; absent: none, or unknown. */
  gpuMemoryBytes: byteCount.optional(),
  /** The worker fetches inputs and saves outputs; absent: an older one, which is given no job with any. */
  movesBytes: z.literal(true).optional(),
  /** Free bytes where the job would write; absent: those of the node's last report. */
  diskBytes: byteCount.optional(),
});

export interface TakenJob {
  id: string;
  /** Number of the attempt, which every later call about it repeats. */
  attempt: number;
  /** Writer epoch of the run: the lease. */
  epoch: number;
  run: string;
  /** Name for people. */
  name: string;
  spec: JobSpec;
  /** Values of its secrets, for the environment of the program. The worker writes them to no file and no log. */
  secrets: JobSecrets;
  /** The answer that `node.claimEpoch` gives: where training resumes. */
  claim: ClaimAnswer;
}

export interface TakeJobAnswer {
  /** Null when none came within `waitSeconds`. */
  job: TakenJob | null;
  /** Sentence for people about why there was none, for example a paused queue; null otherwise. */
  why: string | null;
  /** The hub goes on looking after this answer, and sends the message `job` on the stream of the node when it has assigned one. */
  notifies?: true;
}

/** How an attempt ended, as its node knows it. */
export const attemptExit = z.discriminatedUnion("kind", [
  /** The program ended. With code 0 the node reports this only when everything it captured is safe. */
  z.object({ kind: z.literal("exited"), code: z.number().int().min(0).max(255) }),
  /** A signal ended the program and the worker did not send it, for example SIGKILL by the kernel. Counted as a failure. */
  z.object({ kind: z.literal("killed"), signal: z.string().regex(/^SIG[A-Z0-9]{1,16}$/, "not the name of a signal") }),
  /** The node could not start the program. Counted as a failure; this node is not given the job again for an hour. */
  z.object({ kind: z.literal("refused"), why: z.string().max(1024) }),
  /** The program ended with code 0, and its outputs cannot be saved as the job says. Counted as a failure. */
  z.object({ kind: z.literal("unsaved"), why: z.string().max(1024) }),
  /** The worker itself was told to stop, or the machine is taken away. Never counted as a failure. */
  z.object({ kind: z.literal("interrupted"), why: z.string().max(1024) }),
]);
export type AttemptExit = z.infer<typeof attemptExit>;

/** `node.endJob`: reports the end of an attempt. Repeating it is harmless. */
export const endJobInput = z.object({
  jobId: id,
  attempt: attemptNumber,
  epoch: writerEpoch,
  exit: attemptExit,
  /** Step that the program resumed from, the last one that it reported or captured, and the newest safe one. */
  fromStep: step.nullable(),
  toStep: step.nullable(),
  safeStep: step.nullable(),
});

export interface EndJobAnswer {
  /** False: the attempt was over before, or another node has the run. Nothing was changed; the node forgets the attempt. */
  accepted: boolean;
}

/** `node.jobStates`: renews the leases of these attempts and learns which of them are over. */
export const jobStatesInput = z.object({ bootId: id, jobs: z.array(held).max(MOST_HELD) });

/** `over`: the worker ends the program (SIGTERM, later SIGKILL) and does not report its end. */
export interface HeldAnswer extends HeldAttempt {
  state: "current" | "over";
  /** Null while it is current, and for an attempt that the hub does not know. */
  outcome: AttemptOutcome | null;
  /** Sentence for people; null while it is current. */
  reason: string | null;
}
export interface JobStatesAnswer {
  jobs: HeldAnswer[];
}
