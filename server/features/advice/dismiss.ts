import type * as z from "zod";
import type { bringAdviceBackInput, dismissInput } from "#protocol/alerts/advice.ts";
import { Fault } from "#protocol/faults/fault.ts";
import { audit } from "#server/core/api/audit.ts";
import type { Context } from "#server/core/api/trpc.ts";
import type { PersonCaller } from "#server/core/api/caller.ts";

const DAY_MS = 86_400_000;

/** Dismisses a piece of advice for everybody, with the reason; replaces an earlier dismissal with the same key. */
export async function dismissAdvice(
  { hub, caller }: Context & { caller: PersonCaller },
  { key, reason, forDays }: z.infer<typeof dismissInput>,
): Promise<{ ok: true }> {
  const now = hub.now();
  const until = forDays === null ? null : new Date(now + forDays * DAY_MS);
  const data = { reason, at: new Date(now), by: caller.person.email, until };
  await hub.db.$transaction(async (tx) => {
    await tx.adviceDismissal.deleteMany({ where: { until: { lt: new Date(now) } } });
    await tx.adviceDismissal.upsert({ where: { key }, update: data, create: { key, ...data } });
    await audit({ db: tx, now: hub.now }, caller, { action: "advice dismissed", subject: `${key}: ${reason}` });
  });
  return { ok: true };
}

/** Removes the dismissal of a piece of advice. @throws Fault NOT_FOUND when nobody dismissed it */
export async function bringAdviceBack(
  { hub, caller }: Context & { caller: PersonCaller },
  { key }: z.infer<typeof bringAdviceBackInput>,
): Promise<{ ok: true }> {
  await hub.db.$transaction(async (tx) => {
    const { count } = await tx.adviceDismissal.deleteMany({ where: { key } });
    if (count === 0) throw new Fault("NOT_FOUND", { subject: "this piece of advice", detail: "nobody put it aside" });
    await audit({ db: tx, now: hub.now }, caller, { action: "advice brought back", subject: key });
  });
  return { ok: true };
}
