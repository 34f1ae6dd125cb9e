import type { ClaimAnswer } from "#protocol/wire/hello.ts";
import type { RunName } from "#protocol/base/names.ts";
import type { Agent } from "./agent-assemble.ts";
import type { Point } from "../lost-work/beginning.ts";
import { lossOf } from "../lost-work/loss-of.ts";
import type { Resumed } from "../lost-work/training.ts";

type Teller = Pick<Agent, "outbox" | "ledger" | "narrator">;

/**
 * Tells the hub what the interruption before this start cost, once; from here on training has come no further than where it
 * goes on. Only what this node noted in its present epoch counts: of another node's work the hub knows the last report, and
 * takes it that an epoch goes on from where it was to begin. When it cannot (that checkpoint is damaged), that is told.
 * Faults: NO_SPACE, WRITE_FAILED.
 */
export async function reportLoss(
  agent: Teller & Pick<Agent, "training">,
  about: { run: RunName; claim: ClaimAnswer; from: Point | null },
): Promise<void> {
  const { training } = agent;
  const { run, claim, from } = about;
  const { epoch } = claim;
  await tellLoss(agent, { run, epoch, from, last: training.reached(run, epoch) ?? beginningOf(claim) });
  const at = Date.now();
  const resumed = resumedAt(at, from, claim.newest?.step ?? -1);
  training.note(run, { step: from?.step ?? 0, at, epoch, resumed });
}

/** From when on work is at risk that goes on now: what is in the bucket is safe, and so is what was done before it. */
export const resumedAt = (at: number, from: Point | null, safeStep: number): Resumed => ({
  at,
  fromAt: from !== null && from.step > safeStep ? from.at : null,
});

/** Says what lies between how far training had come and where it goes on. Faults: NO_SPACE, WRITE_FAILED. */
export async function tellLoss(
  { outbox, ledger, narrator }: Teller,
  about: Pick<Parameters<typeof lossOf>[0], "run" | "epoch" | "from" | "last">,
): Promise<void> {
  const loss = lossOf({ ...about, beganAt: await ledger.runStartedAt(about.run) });
  if (loss === null) return;
  await outbox.add(loss);
  narrator.lost(loss);
}

/** Where an epoch was to begin in which nothing has been saved yet; null in one that has gone on since. */
export function beginningOf({ parent, newest }: ClaimAnswer): Point | null {
  if (parent === null || newest === null) return null;
  if (newest.step !== parent.step || newest.writerEpoch !== parent.epoch) return null;
  return { step: newest.step, at: newest.capturedAt };
}
