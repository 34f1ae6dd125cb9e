import { stepText } from "#protocol/checkpoint/step-words.ts";
import { Fault } from "#protocol/faults/fault.ts";
import type { ClaimFrom } from "#protocol/wire/hello.ts";
import type { Checkpoint } from "#prisma/client/client.ts";
import type { Transaction } from "#prisma/open.ts";
import { newestOfStep } from "../runs/newest.ts";

type Tx = Pick<Transaction, "checkpoint" | "epoch">;

const MOST_NAMED = 8;

/**
 * Returns the checkpoint that a run is to start from, null for its beginning, or "as it is" if its current line already
 * started there. A new line is opened even when the chosen step is the newest. A later step may still be on its way from a
 * node, and must not come before the training that starts here. @throws Fault NOT_FOUND when there is no complete checkpoint
 * of that step
 */
export async function chooseStart(tx: Tx, run: string, from: ClaimFrom): Promise<Checkpoint | null | "as it is"> {
  const last = await tx.epoch.findFirst({ where: { run, isChosen: true }, orderBy: { epoch: "desc" } });
  const startedAt = last === null ? undefined : last.parentStep === null ? "beginning" : Number(last.parentStep);
  if (startedAt === from) return "as it is";
  if (from === "beginning") return null;
  const chosen = await newestOfStep(tx, run, from);
  if (chosen !== null) return chosen;
  const there = await tx.checkpoint.findMany({
    where: { run, state: "complete", role: null },
    orderBy: [{ writerEpoch: "desc" }, { step: "desc" }],
    select: { step: true },
    take: MOST_NAMED,
  });
  const steps = there.map(({ step }) => String(step)).join(", ");
  const detail = `it has no complete checkpoint of ${stepText(from)}; ${steps === "" ? "it has none at all" : `the newest are ${steps}`}`;
  throw new Fault("NOT_FOUND", { op: "claimEpoch", subject: run, detail });
}
