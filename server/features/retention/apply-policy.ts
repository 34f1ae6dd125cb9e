import { reasonWords } from "#protocol/retention/decide-keeping.ts";
import { Fault, toFault } from "#protocol/faults/fault.ts";
import type { AppliedView, KeepPolicy } from "#protocol/retention/keeping.ts";
import { audit } from "#server/core/api/audit.ts";
import type { Hub } from "#server/core/api/hub.ts";
import type { Context } from "#server/core/api/trpc.ts";
import { mayDelete, requireMayDelete } from "#server/core/retention/may-delete.ts";
import { previewRun, runsOfDefault } from "./preview.ts";
import { EVERY_RUN, parsePolicy, policyFor } from "./stored-policy.ts";
import { moveToTrash } from "./trash.ts";
import type { PersonCaller } from "#server/core/api/caller.ts";

/**
 * Moves to the trash what a policy does not keep. Each checkpoint is judged again just before it is moved. Nothing is moved
 * while the record is in doubt, because something unknown to this hub may protect a checkpoint.
 */

/** Returns whether everything that the bucket knows of this run has been read. */
async function isWhole(hub: Hub, run: string): Promise<boolean> {
  const row = await hub.db.run.findUnique({ where: { name: run }, select: { highestSeen: true } });
  return row !== null && row.highestSeen !== null && (await mayDelete(hub));
}

async function applyTo(
  hub: Hub,
  at: { run: string; policy: KeepPolicy; isStopped: () => boolean },
): Promise<AppliedView> {
  const { run, policy, isStopped } = at;
  const applied: AppliedView = { trashed: 0, freedBytes: 0, fault: null };
  const { rows } = await previewRun(hub, run, policy);
  for (const { id, fate, sizeBytes, because } of rows.toReversed()) {
    if (fate === "stays") continue;
    if (isStopped() || !(await isWhole(hub, run))) break;
    const why = `by the policy: ${because.map(reasonWords).join(", ")}`;
    try {
      if (!(await moveToTrash(hub, { id, who: "hub", why, trashMs: policy.trashMs }))) continue;
      applied.trashed++;
      applied.freedBytes += sizeBytes;
    } catch (error) {
      const fault = toFault(error, { op: "apply the policy" });
      // A pin, a tag or a restore protects it since the preview.
      if (fault.code === "CHECKPOINT_KEPT" || fault.code === "NOT_FOUND") continue;
      applied.fault = fault.toData();
      break;
    }
  }
  return applied;
}

/** Applies the policy of every run; the schedule calls it. */
export async function applyPolicies(hub: Hub, isStopped: () => boolean): Promise<void> {
  const rows = await hub.db.keepPolicy.findMany({ where: { body: { not: null } } });
  if (rows.length === 0 || !(await mayDelete(hub))) return;
  const usual = rows.find(({ run }) => run === EVERY_RUN)?.body ?? null;
  const work = rows.filter(({ run }) => run !== EVERY_RUN).map(({ run, body }) => ({ run, body }));
  if (usual !== null) for (const run of await runsOfDefault(hub)) work.push({ run, body: usual });
  for (const { run, body } of work) {
    if (isStopped()) return;
    if (body === null || !(await isWhole(hub, run))) continue;
    const { fault } = await applyTo(hub, { run, policy: parsePolicy(body), isStopped });
    if (fault !== null) hub.log.warn({ fault, run }, "the policy was not applied");
  }
}

/**
 * Applies the stored policy of a run now.
 * @throws Fault NOT_FOUND (no policy), DELETIONS_OFF
 */
export async function applyNow(
  { hub, caller }: Context & { caller: PersonCaller },
  { run }: { run: string },
): Promise<AppliedView> {
  await requireMayDelete(hub);
  const policy = await policyFor(hub.db, run);
  if (policy === null) throw new Fault("NOT_FOUND", { subject: "a policy of this run" });
  await audit(hub, caller, { action: "keeping policy applied", subject: run });
  return applyTo(hub, { run, policy, isStopped: () => hub.closing.aborted });
}
