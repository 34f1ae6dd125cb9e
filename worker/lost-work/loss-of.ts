import { createHash } from "node:crypto";
import { LEAST_UNCERTAIN_MS } from "#protocol/history/losses.ts";
import type { RunName } from "#protocol/base/names.ts";
import type { NodeEventBody } from "#protocol/wire/reports.ts";
import { idleMsSince } from "./idle-since.ts";
import type { Resumed } from "./training.ts";

/** What an interruption cost: the distance between how far training had come and where it goes on. */
export interface Interruption {
  run: RunName;
  epoch: number;
  /** Where it goes on, and when that was written; null: from the beginning. */
  from: { step: number; at: number } | null;
  /** How far it had come; null when nothing is known of it. */
  last: LastPoint | null;
  /** When the run began, for one that goes back to its beginning. Epoch ms. */
  beganAt: number;
}

export interface LastPoint {
  step: number;
  at: number;
  resumed?: Resumed | undefined;
  /** The step is reckoned from the pace of the program, which says none itself. */
  isEstimated?: boolean;
  /** It had come to this step and no further; left out: it had. */
  isExact?: boolean;
}

type WorkLost = Extract<NodeEventBody, { type: "work-lost" }>;

/**
 * Returns the row for the hub's ledger of lost work; null when nothing was lost. Where no step is known to be lost but the
 * program was at work, the time is told alone. The id is made from what the row says: told twice, it is one.
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
