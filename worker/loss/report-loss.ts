import type { ClaimAnswer } from "#protocol/hello.ts";
import type { RunName } from "#protocol/names.ts";
import type { Agent } from "../agent-assemble.ts";
import { lossOf } from "./loss-of.ts";

/**
 * Tells the hub what the interruption before this start cost, once; from here on training has come no further than where it
 * goes on. Only what this node noted in its present epoch counts: of another node's work the hub knows the last report.
 * Faults: NO_SPACE, WRITE_FAILED.
 */
export async function reportLoss(
  { training, outbox, ledger, narrator }: Pick<Agent, "training" | "outbox" | "ledger" | "narrator">,
  about: { run: RunName; claim: ClaimAnswer; from: { step: number; at: number } | null },
): Promise<void> {
  const { run, claim, from } = about;
  const { epoch } = claim;
  const loss = lossOf({ run, epoch, from, last: training.of(run, epoch), beganAt: await ledger.runStartedAt(run) });
  if (loss !== null) {
    await outbox.add(loss);
    narrator.lost(loss);
  }
  const at = Date.now();
  // What is in the bucket is safe, and so is what was done before it.
  const fromAt = from !== null && from.step > (claim.newest?.step ?? -1) ? from.at : null;
  training.note(run, { step: from?.step ?? 0, at, epoch, resumed: { at, fromAt } });
}
