import type { AttemptExit } from "#protocol/jobs/node-jobs.ts";
import { sentenceOf, toFault, type Fault } from "#protocol/faults/fault.ts";
import type { JobWorker } from "./job-worker.ts";

/** Faults by which the hub says that another node has the run. */
const LOST: ReadonlySet<string> = new Set(["EPOCH_OVER", "RUN_IN_USE", "CANCELLED"]);
/** Faults of the job itself, which every machine like this one has. */
const OF_THE_JOB: ReadonlySet<string> = new Set(["BAD_INPUT", "PROGRAM_NOT_FOUND", "PROGRAM_NOT_EXECUTABLE"]);
/** Faults of this machine alone. */
const OF_THE_MACHINE: ReadonlySet<string> = new Set(["NO_SPACE", "FOLDER_UNWRITABLE", "READ_FAILED", "WRITE_FAILED"]);
const MOST_WHY = 1_024;

type About = Pick<JobWorker, "setbacks"> & { stopping: AbortSignal };

/**
 * Returns how an attempt ended whose program could not be started. Trouble of the bucket, the hub or this machine is no
 * failure of the job; it counts as a setback, so that this machine does not take one job after the other without success.
 */
export const exitOfFault = (error: unknown, about: About): AttemptExit =>
  exitBy(error, about, { isOfTheJob: ({ code }) => OF_THE_JOB.has(code), kind: "refused" });

/** Does the same for inputs that could not be fetched: a bucket that refuses them does so at every machine. */
export const exitOfInputs = (error: unknown, about: About): AttemptExit =>
  exitBy(error, about, { isOfTheJob: isForGood, kind: "refused" });

/** Does the same for outputs that could not be saved. */
export const exitOfOutputs = (error: unknown, about: About): AttemptExit =>
  exitBy(error, about, { isOfTheJob: isForGood, kind: "unsaved" });

const isForGood = ({ code, retry }: Fault): boolean => retry === "never" && !OF_THE_MACHINE.has(code);

function exitBy(
  error: unknown,
  { stopping, setbacks }: About,
  { isOfTheJob, kind }: { isOfTheJob: (fault: Fault) => boolean; kind: "refused" | "unsaved" },
): AttemptExit {
  const fault = toFault(error, { op: "work" });
  const why = sentenceOf(fault.toData()).slice(0, MOST_WHY);
  if (stopping.aborted || LOST.has(fault.code)) return { kind: "interrupted", why };
  if (isOfTheJob(fault)) {
    setbacks.count = 0;
    return { kind, why };
  }
  setbacks.count++;
  return { kind: "interrupted", why };
}
