import { audit } from "../api/audit.ts";
import type { Context } from "../api/trpc.ts";
import type { PersonCaller } from "../api/caller.ts";
import { emit } from "../events/record-event.ts";
import { Fault } from "#protocol/faults/fault.ts";

/**
 * Records that a person has seen that programs of a run did not continue from what they were given: from then on retention treats
 * the restored lines as any other, and their alert ends. @throws Fault NOT_FOUND
 */
export async function seeLines(
  { hub, caller }: Context & { caller: PersonCaller },
  { run }: { run: string },
): Promise<{ ok: true }> {
  const { count } = await hub.db.run.updateMany({
    where: { name: run },
    data: { lineSeenAt: new Date(hub.now()), lineSeenBy: caller.person.email },
  });
  if (count === 0) throw new Fault("NOT_FOUND", { subject: run });
  await audit(hub, caller, { action: "new line seen", subject: run });
  emit(hub, null, ["runs"]);
  return { ok: true };
}
