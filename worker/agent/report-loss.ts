import { stepSourceOf } from "#protocol/checkpoint/step-words.ts";
import type { ClaimAnswer } from "#protocol/wire/hello.ts";
import type { RunName } from "#protocol/base/names.ts";
import type { Agent } from "./agent-assemble.ts";
import type { Point } from "../lost-work/beginning.ts";
import { lossOf } from "../lost-work/loss-of.ts";
import type { Resumed } from "../lost-work/training.ts";

type Teller = Pick<Agent, "outbox" | "ledger" | "reporter">;

/**
 * Reports once to the hub what the interruption before this start cost, and notes that training is back where it continues.
 * Only steps that this node noted in its present epoch count. For another node's steps the hub has that node's last report, and
 * assumes that an epoch continues where it was to begin. A damaged checkpoint makes that impossible; the difference is then
 * reported here. Faults: NO_SPACE, WRITE_FAILED.
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

/** Returns from when on this start's work is at risk. Work before a safe step is safe too, so `fromAt` is then null. */
export const resumedAt = (at: number, from: Point | null, safeStep: number): Resumed => ({
  at,
  fromAt: from !== null && from.step > safeStep ? from.at : null,
});

/** Reports the steps between how far training had come and where it continues, if any. Faults: NO_SPACE, WRITE_FAILED. */
export async function tellLoss(
  { outbox, ledger, reporter }: Teller,
  about: Pick<Parameters<typeof lossOf>[0], "run" | "epoch" | "from" | "last">,
): Promise<void> {
  const loss = lossOf({ ...about, beganAt: await ledger.runStartedAt(about.run) });
  if (loss === null) return;
  await outbox.add(loss);
  reporter.lost(loss);
}

/** Returns where an epoch was to begin while nothing has been saved in it; null once something has. */
export function beginningOf({ parent, newest }: ClaimAnswer): Point | null {
  if (parent === null || newest === null) return null;
  if (newest.step !== parent.step || newest.writerEpoch !== parent.epoch) return null;
  return { step: newest.step, at: newest.capturedAt, source: stepSourceOf(newest.place) };
}
