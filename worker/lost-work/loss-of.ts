import { createHash } from "node:crypto";
import { LEAST_UNCERTAIN_MS } from "#protocol/history/losses.ts";
import type { RunName } from "#protocol/base/names.ts";
import type { NodeEventBody } from "#protocol/wire/reports.ts";
import { idleMsSince } from "./idle-since.ts";
import type { Resumed } from "./training.ts";

/** An interruption of training. Its cost is the distance between the last step reached and the step it resumes from. */
export interface Interruption {
  run: RunName;
  epoch: number;
  /** Checkpoint that training resumes from, and when it was written; null: from the beginning. */
  from: { step: number; at: number } | null;
  /** Last point that training had reached; null when unknown. */
  last: LastPoint | null;
  /** Start of the run (epoch ms), for a run that restarts from its beginning. */
  beganAt: number;
}

export interface LastPoint {
  step: number;
  at: number;
  resumed?: Resumed | undefined;
  /** The step is estimated from the program's pace, because the program does not report steps. */
  isEstimated?: boolean;
  /** Whether this was the last step reached; default true. */
  isExact?: boolean;
}

type WorkLost = Extract<NodeEventBody, { type: "work-lost" }>;

/**
 * Returns the row for the hub's ledger of lost work; null when nothing was lost. Where no lost step is known, but the
 * program was running, the row holds the time alone. The id is a hash of the content, so a repeated report is one row.
 */
export function lossOf({ run, epoch, from, last, beganAt }: Interruption): WorkLost | null {
  if (last === null) return null;
  const { isEstimated = false, isExact = true } = last;
  const lostSteps = last.step - (from?.step ?? 0);
  const since = from?.at ?? beganAt;
  const lostMs = Math.max(0, Math.round(last.at - since - idleMsSince(since, last.resumed)));
  const isOnlyTime = lostSteps === 0 && !isExact && lostMs >= LEAST_UNCERTAIN_MS;
  if (lostSteps <= 0 && !isOnlyTime) return null;
  const what = JSON.stringify([run, epoch, from?.step ?? null, last.step, Math.round(last.at)]);
  return {
    type: "work-lost",
    lossId: createHash("sha256").update(what).digest("hex").slice(0, 32),
    run,
    writerEpoch: epoch,
    fromStep: from?.step ?? null,
    lastStep: last.step,
    lostSteps,
    lostMs,
    ...((isEstimated || isOnlyTime) && { isEstimated: true }),
  };
}
