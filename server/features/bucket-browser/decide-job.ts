import type * as z from "zod";
import type { BucketJob } from "#prisma/client/client.ts";
import {
  bucketAction,
  bucketJobStatesBefore,
  isBucketJobOver,
  PLAN_LASTS_MS,
  type BucketAction,
  type BucketJobState,
  type BucketJobView,
  type listBucketJobsInput,
  type PlanBucketJob,
} from "#protocol/buckets/bucket-jobs.ts";
import { BUCKET_VERBS, takesAway } from "#protocol/buckets/bucket-verbs.ts";
import { Fault } from "#protocol/faults/fault.ts";
import { hasRole, type Role } from "#protocol/wire/requests.ts";
import { actorOf, audit } from "#server/core/api/audit.ts";
import { emit } from "#server/core/events/record-event.ts";
import type { Hub } from "#server/core/api/hub.ts";
import { newId } from "#server/platform/random-id.ts";
import type { Context } from "#server/core/api/trpc.ts";
import { requireMayDelete } from "#server/core/retention/may-delete.ts";
import { jobViewOf } from "./job-row.ts";
import type { PersonCaller } from "#server/core/api/caller.ts";

/**
 * Takes people's decisions about bucket jobs. Copies and revivals only add objects; moves and deletions remove some, so they
 * need an admin.
 */

type PersonContext = Context & { caller: PersonCaller };

const NEEDED: Readonly<Record<BucketAction, Role>> = {
  copy: "operator",
  move: "admin",
  delete: "admin",
  revive: "operator",
};

/** Checks that the person may do this action. @throws Fault ROLE_REQUIRED */
function requireRoleFor({ person }: PersonCaller, action: BucketAction): void {
  if (hasRole(person.role, NEEDED[action])) return;
  throw new Fault("ROLE_REQUIRED", {
    op: action,
    detail: `to ${BUCKET_VERBS[action]} objects needs the role ${NEEDED[action]}`,
  });
}

const viewOf = (hub: Hub, row: BucketJob): BucketJobView => jobViewOf(row, hub.bucketJobs.jobs.get(row.id));

/** Refuses a request whose action, target and items do not fit together. @throws Fault BAD_INPUT */
function refuseOdd({ action, from, items, target }: PlanBucketJob): void {
  const odd = (detail: string) => new Fault("BAD_INPUT", { op: "plan", detail });
  const hasTarget = action === "copy" || action === "move";
  if (hasTarget !== (target !== null)) throw odd("a copy or move has a target folder, a deletion has none");
  if (target === from) throw odd("the target is the folder it is taken from");
  const keys = new Set<string>();
  for (const item of items) {
    if ((action === "revive") !== "versionId" in item)
      throw odd("what is brought back is a version of a key, and nothing else is");
    if ("versionId" in item && keys.has(item.key)) throw odd("of each key one version is brought back");
    if ("versionId" in item) keys.add(item.key);
    const name = "key" in item ? item.key : item.prefix;
    if (!name.startsWith(from)) throw odd("something that was chosen does not lie in that folder");
  }
}

/**
 * Queues a job for planning; nothing in the bucket changes. Faults: ROLE_REQUIRED, BAD_INPUT, NOT_FOUND, DELETIONS_OFF where
 * the action removes objects.
 */
export async function planJob({ hub, caller }: PersonContext, asked: PlanBucketJob): Promise<BucketJobView> {
  requireRoleFor(caller, asked.action);
  refuseOdd(asked);
  if (takesAway(asked.action)) await requireMayDelete(hub);
  const store = await hub.stores.open(asked.profileId);
  const { actor, actorId } = actorOf(caller);
  const row = await hub.db.bucketJob.create({
    data: {
      id: newId(),
      profileId: asked.profileId,
      profileName: store.profileName,
      bucket: store.access.bucket,
      action: asked.action,
      state: "planning",
      asked: JSON.stringify(asked),
      actorId,
      startedBy: actor,
      plannedAt: new Date(hub.now()),
    },
  });
  hub.bucketJobs.wake.notify();
  return viewOf(hub, row);
}

/** Returns the row of a job. @throws Fault NOT_FOUND */
async function findJob(hub: Hub, id: string): Promise<BucketJob> {
  const row = await hub.db.bucketJob.findUnique({ where: { id } });
  if (row === null) throw new Fault("NOT_FOUND", { subject: "this job" });
  return row;
}

export const readJob = async (hub: Hub, { id }: { id: string }): Promise<BucketJobView> =>
  viewOf(hub, await findJob(hub, id));

/** Returns the newest confirmed jobs, ended ones included. */
export async function listJobs(hub: Hub, { profileId }: z.infer<typeof listBucketJobsInput>): Promise<BucketJobView[]> {
  const rows = await hub.db.bucketJob.findMany({
    where: {
      state: { in: ["waiting", "running", "done", "failed", "cancelled"] },
      plan: { not: null },
      ...(profileId !== null && { profileId }),
    },
    orderBy: [{ plannedAt: "desc" }, { id: "desc" }],
    take: 20,
  });
  return rows.map((row) => viewOf(hub, row));
}

const sentence = (row: BucketJob, view: BucketJobView): string => {
  const to = view.target === null ? "" : ` to ${view.target === "" ? "the top" : view.target}`;
  return `${row.profileName}: ${view.plan?.objects ?? 0} objects of ${view.from === "" ? "the bucket" : view.from}${to}`;
};

/**
 * Confirms a plan by its id: the job touches exactly the objects that the plan names.
 * @throws Fault NOT_FOUND, ROLE_REQUIRED, EXPIRED when it is older than a plan lasts, CONFLICT when it is no plan any more,
 * DELETIONS_OFF
 */
export async function startJob({ hub, caller }: PersonContext, { id }: { id: string }): Promise<BucketJobView> {
  const row = await findJob(hub, id);
  const action = bucketAction.parse(row.action);
  requireRoleFor(caller, action);
  if (takesAway(action)) await requireMayDelete(hub);
  const view = viewOf(hub, row);
  const tooOld = row.state === "planned" && hub.now() - row.plannedAt.getTime() > PLAN_LASTS_MS;
  if (tooOld || row.state === "expired") throw new Fault("EXPIRED", { op: action, subject: "this plan" });
  await hub.db.$transaction(async (tx) => {
    const where = { id, state: { in: bucketJobStatesBefore("waiting") } };
    const { count } = await tx.bucketJob.updateMany({ where, data: { state: "waiting" } });
    if (count === 0) throw new Fault("CONFLICT", { op: action, subject: "this plan", detail: `it is ${row.state}` });
    const subject = sentence(row, view).slice(0, 1024);
    await audit({ db: tx, now: hub.now }, caller, {
      action: `${BUCKET_VERBS[action]} objects`,
      subject,
      subjectId: id,
    });
  });
  hub.bucketJobs.wake.notify();
  emit(hub, null, ["transfers"]);
  return readJob(hub, { id });
}

/** Stops a job, or withdraws a plan; finished work stays. Faults: NOT_FOUND, ROLE_REQUIRED, CONFLICT when it has ended. */
export async function cancelJob({ hub, caller }: PersonContext, { id }: { id: string }): Promise<BucketJobView> {
  const row = await findJob(hub, id);
  const action = bucketAction.parse(row.action);
  requireRoleFor(caller, action);
  const state = row.state as BucketJobState;
  if (isBucketJobOver(state))
    throw new Fault("CONFLICT", { op: "cancel", subject: "this job", detail: `it is ${state}` });
  const running = hub.bucketJobs.jobs.get(id);
  // A running job ends itself and records what it had done by then.
  if (state !== "running" || running === undefined) {
    await hub.db.$transaction(async (tx) => {
      const where = { id, state: { in: bucketJobStatesBefore("cancelled") } };
      await tx.bucketJob.updateMany({ where, data: { state: "cancelled", endedAt: new Date(hub.now()) } });
      await tx.bucketJobChunk.deleteMany({ where: { jobId: id } });
    });
  }
  running?.stop.abort();
  if (state === "waiting" || state === "running") {
    const subject = sentence(row, viewOf(hub, row)).slice(0, 1024);
    await audit(hub, caller, { action: `cancel ${BUCKET_VERBS[action]} objects`, subject, subjectId: id });
  }
  emit(hub, null, ["transfers"]);
  return readJob(hub, { id });
}
