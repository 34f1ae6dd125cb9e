import { createHash } from "node:crypto";
import type { RunName } from "#protocol/names.ts";
import type { NodeEventBody } from "#protocol/reports.ts";
import { idleMsSince } from "./idle-since.ts";
import type { Resumed } from "./training.ts";

/** What an interruption cost: the distance between how far training had come and where it goes on. */
export interface Interruption {
  run: RunName;
  epoch: number;
  /** Where it goes on, and when that was written; null: from the beginning. */
  from: { step: number; at: number } | null;
  /** How far it had come; null when nothing is known of it. */
  last: { step: number; at: number; resumed?: Resumed | undefined } | null;
  /** When the run began, for one that goes back to its beginning. Epoch ms. */
  beganAt: number;
}

type WorkLost = Extract<NodeEventBody, { type: "work-lost" }>;

/** The row for the hub's loss ledger; null when nothing was lost. Its id is made from what it says: told twice, it is one. */
export function lossOf({ run, epoch, from, last, beganAt }: Interruption): WorkLost | null {
  if (last === null) return null;
  const lostSteps = last.step - (from?.step ?? 0);
  if (lostSteps <= 0) return null;
  const since = from?.at ?? beganAt;
  const lostMs = Math.max(0, Math.round(last.at - since - idleMsSince(since, last.resumed)));
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
  };
}
