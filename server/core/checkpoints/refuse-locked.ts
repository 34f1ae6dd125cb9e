import { stepText } from "#protocol/checkpoint/step-words.ts";
import { Fault } from "#protocol/faults/fault.ts";
import type { Checkpoint } from "#prisma/client/client.ts";
import type { Hub } from "../api/hub.ts";

/** Refuses a restore of a checkpoint that the hub has no key for. @throws Fault SEAL_KEY_MISSING */
export async function refuseLocked(
  { db }: Pick<Hub, "db">,
  { sealKeyId, run, step }: Pick<Checkpoint, "sealKeyId" | "run" | "step">,
): Promise<void> {
  if (sealKeyId === null) return;
  if ((await db.sealKeySecret.count({ where: { keyId: sealKeyId } })) > 0) return;
  throw new Fault("SEAL_KEY_MISSING", { op: "restore", subject: `${stepText(step)} of ${run}` });
}
