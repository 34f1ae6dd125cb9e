import type { ClaimAnswer } from "#protocol/hello.ts";
import type { RunName } from "#protocol/names.ts";
import type { Agent } from "../agent-assemble.ts";
import { lossOf } from "./loss-of.ts";

/**
 * Tells the hub what the interruption before this start cost, once; from here on training has come no further than where it
 * goes on. Only what this node noted in its present epoch counts: of another node's work the hub knows the last report, and
 * takes it that an epoch goes on from where it was to begin. When it cannot (that checkpoint is damaged), that is told.
 * Faults: NO_SPACE, WRITE_FAILED.
 */
export async function reportLoss(
  { training, outbox, ledger, narrator }: Pick<Agent, "training" | "outbox" | "ledger" | "narrator">,
  about: { run: RunName; claim: ClaimAnswer; from: { step: number; at: number } | null },
): Promise<void> {
  const { run, claim, from } = about;
  const { epoch } = claim;
  const last = training.of(run, epoch) ?? beginningOf(claim);
  const loss = lossOf({ run, epoch, from, last, beganAt: await ledger.runStartedAt(run) });
  if (loss !== null) {
    await outbox.add(loss);
    narrator.lost(loss);
  }
  const at = Date.now();
  // What is in the bucket is safe, and so is what was done before it.
  const fromAt = from !== null && from.step > (claim.newest?.step ?? -1) ? from.at : null;
  training.note(run, { step: from?.step ?? 0, at, epoch, resumed: { at, fromAt } });
}

/** Where an epoch was to begin in which nothing has been saved yet; null in one that has gone on since. */
function beginningOf({ parent, newest }: ClaimAnswer): { step: number; at: number } | null {
  if (parent === null || newest === null) return null;
  if (newest.step !== parent.step || newest.writerEpoch !== parent.epoch) return null;
  return { step: newest.step, at: newest.capturedAt };
}
