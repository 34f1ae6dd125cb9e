import type * as z from "zod";
import { Fault } from "#protocol/faults/fault.ts";
import { USUAL_AT_ONCE, type setRestoreCapInput } from "#protocol/wire/restoring.ts";
import { audit } from "#server/core/api/audit.ts";
import type { Context } from "#server/core/api/trpc.ts";
import { releaseRestores } from "./release-restores.ts";

/** Sets how many restores from a bucket profile run at once; running ones go on. @throws Fault NOT_FOUND */
export async function setRestoreCap(
  { hub, caller }: Context,
  { profileId, atOnce }: z.infer<typeof setRestoreCapInput>,
): Promise<{ atOnce: number }> {
  const profile = await hub.db.profile.findUnique({ where: { id: profileId }, select: { name: true } });
  if (profile === null) throw new Fault("NOT_FOUND", { subject: "this bucket profile" });
  await hub.db.profile.update({ where: { id: profileId }, data: { restoresAtOnce: atOnce } });
  const action = `restores at once: ${atOnce ?? "as usual"}`;
  await audit(hub, caller, { action, subject: profile.name, subjectId: profileId });
  hub.live.markStale(["profiles"]);
  await releaseRestores(hub);
  return { atOnce: atOnce ?? USUAL_AT_ONCE };
}
