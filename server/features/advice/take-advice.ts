import type * as z from "zod";
import type { takeAdviceInput } from "#protocol/alerts/advice.ts";
import { Fault } from "#protocol/faults/fault.ts";
import { formatBytes } from "#protocol/base/units.ts";
import { audit } from "#server/core/api/audit.ts";
import type { Context } from "#server/core/api/trpc.ts";
import { listAdvice } from "./list-advice.ts";
import type { PersonCaller } from "#server/core/api/caller.ts";

/**
 * Sets the part size or the number of connections of a profile as a piece of advice says. Nodes receive it when they next
 * connect.
 * @throws Fault NOT_FOUND when the history no longer supports the advice, BAD_INPUT when it is not about a setting
 */
export async function takeAdvice(
  { hub, caller }: Context & { caller: PersonCaller },
  { key }: z.infer<typeof takeAdviceInput>,
): Promise<{ ok: true }> {
  const { advice } = await listAdvice(hub, { nodeId: null });
  const found = advice.find((one) => one.key === key);
  if (found === undefined) {
    throw new Fault("NOT_FOUND", { subject: "this piece of advice", detail: "the history does not say it any more" });
  }
  const { better, profileId } = found;
  if (better === null || profileId === null) {
    throw new Fault("BAD_INPUT", { subject: "this piece of advice", detail: "it is about no setting" });
  }
  const [data, words] =
    "partBytes" in better
      ? [{ tunePartBytes: BigInt(better.partBytes) }, `parts of ${formatBytes(better.partBytes)}`]
      : [{ tuneConnections: Math.min(96, better.connections) }, `${Math.min(96, better.connections)} connections`];
  const name = await hub.db.$transaction(async (tx) => {
    const set = { ...data, updatedAt: new Date(hub.now()), version: { increment: 1 } };
    const { name } = await tx.profile.update({ where: { id: profileId }, data: set, select: { name: true } });
    const subject = `${name}: ${words}`;
    await audit({ db: tx, now: hub.now }, caller, { action: "advice taken", subject, subjectId: profileId });
    return name;
  });
  hub.live.profileChanged(profileId, name);
  hub.live.markStale(["profiles"]);
  return { ok: true };
}
