import type { JobPolicy } from "./job-spec.ts";
import type { AttemptOutcome, JobState } from "./job-states.ts";
import type { AttemptExit } from "./node-jobs.ts";

/** Decides what follows the end of an attempt: whether the job is done, has failed or waits again, and for how long. Pure. */

/** How an attempt ended: as its node reported it, or because the hub ended it by the job's policy. */
export type AttemptEnd = (
  | AttemptExit
  | { kind: "stopped"; limit: "longest" | "no-progress" }
  /** A Kelpie worker reported a failure, without a code. Its machine is not given the job again for an hour. */
  | { kind: "failed" }
) & {
  fromStep: number | null;
  safeStep: number | null;
};

export interface JobHistory {
  /** Failures counted so far. */
  failures: number;
  /** Ends in a row that were no interruption and made no newer step safe: they make the wait longer. */
  setbacks: number;
  /** Returns a number from 0 to 1, for the jitter. */
  random: () => number;
}

export interface EndVerdict extends Pick<JobHistory, "failures" | "setbacks"> {
  outcome: AttemptOutcome;
  state: Extract<JobState, "waiting" | "done" | "failed">;
  /** Wait before the next attempt, ms; 0 unless `state` is waiting. */
  delayMs: number;
  /** How long this node is not given the job, ms; null: it may have it again. */
  banMs: number | null;
  /** Sentence for people. */
  reason: string;
}

const FIRST_WAIT_MS = 10_000;
const LONGEST_WAIT_MS = 600_000;
const BAN_MS = 3_600_000;

/** Returns the wait after this many setbacks in a row: doubled each time, with half of it random. */
function waitMs(setbacks: number, random: () => number): number {
  const most = Math.min(LONGEST_WAIT_MS, FIRST_WAIT_MS * 2 ** Math.min(Math.max(0, setbacks - 1), 10));
  return Math.round(most / 2 + random() * (most / 2));
}

const madeProgress = ({ fromStep, safeStep }: AttemptEnd): boolean => safeStep !== null && safeStep > (fromStep ?? -1);

/** Signals by which a kernel or a faulty program ends it; the hint helps to tell them apart. */
const SIGNAL_HINTS: Readonly<Record<string, string>> = {
  SIGKILL: "the machine may have run out of memory",
  SIGSEGV: "it read memory that is not its own",
  SIGABRT: "it aborted itself",
  SIGBUS: "a disk or shared memory may be full",
};

function reasonOf(end: AttemptEnd): string {
  switch (end.kind) {
    case "exited":
      return end.code === 0 ? "ended with code 0" : `ended with code ${end.code}`;
    case "killed": {
      const hint = SIGNAL_HINTS[end.signal];
      return `was ended by ${end.signal}${hint === undefined ? "" : `: ${hint}`}`;
    }
    case "refused":
      return `the node could not start it: ${end.why}`;
    case "unsaved":
      return `its outputs could not be saved: ${end.why}`;
    case "interrupted":
      return end.why;
    case "failed":
      return "its Kelpie worker reported a failure";
    case "stopped":
      return end.limit === "longest"
        ? "ran longer than its policy allows"
        : "made no newer step safe within the time of its policy";
  }
}

export function judgeEnd(policy: JobPolicy, history: JobHistory, end: AttemptEnd): EndVerdict {
  const reason = reasonOf(end);
  const { failures } = history;
  const over = { delayMs: 0, banMs: null, reason };
  if (end.kind === "interrupted") {
    const setbacks = madeProgress(end) ? 0 : history.setbacks;
    return { ...over, outcome: "interrupted", state: "waiting", failures, setbacks };
  }
  if (end.kind === "exited" && end.code === 0) {
    return { ...over, outcome: "completed", state: "done", failures, setbacks: 0 };
  }
  const { retry, fail, banMachine } = policy.exitCodes;
  const code = end.kind === "exited" ? end.code : null;
  const has = (codes: readonly number[]): boolean => code !== null && codes.includes(code);
  const isFree = has(retry) && madeProgress(end);
  const counted = isFree ? failures : failures + 1;
  // The wait grows with failures in a row, and starts again once training advanced.
  const setbacks = madeProgress(end) ? 1 : history.setbacks + 1;
  const isLast = has(fail) || (!isFree && counted >= policy.mostFailures);
  return {
    outcome: "failed",
    state: isLast ? "failed" : "waiting",
    failures: counted,
    setbacks,
    delayMs: isLast ? 0 : waitMs(setbacks, history.random),
    banMs: has(banMachine) || end.kind === "refused" || end.kind === "failed" ? BAN_MS : null,
    reason,
  };
}
