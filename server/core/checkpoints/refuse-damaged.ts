import { stepText } from "#protocol/checkpoint/step-words.ts";
import { damageWords } from "#protocol/checkpoint/damage.ts";
import { Fault } from "#protocol/faults/fault.ts";
import type { Checkpoint } from "#prisma/client/client.ts";
import { damageIn } from "./checkpoint-row.ts";

/**
 * Refuses a restore of damaged files. `files` are the wanted ones; null: all. Intact files of a damaged checkpoint may be
 * restored. @throws Fault CHECKPOINT_DAMAGED
 */
export function refuseDamaged(checkpoint: Checkpoint, files: readonly string[] | null): void {
  const damage = damageIn(checkpoint);
  if (damage === null) return;
  const isMeant = files === null || damage.more > 0 || damage.ranges.some(({ path }) => files.includes(path));
  if (!isMeant) return;
  const subject = `${stepText(checkpoint.step)} of ${checkpoint.run}`;
  throw new Fault("CHECKPOINT_DAMAGED", { op: "restore", subject, detail: damageWords(damage) });
}
