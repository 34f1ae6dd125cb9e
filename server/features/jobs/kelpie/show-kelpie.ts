import { jobSpec } from "#protocol/jobs/job-spec.ts";
import { jobState } from "#protocol/jobs/job-states.ts";
import {
  kelpieStatusOf,
  kelpieStorage,
  type kelpieListQuery,
  type KelpieJobView,
  type KelpieStatus,
} from "#protocol/jobs/kelpie.ts";
import { Fault } from "#protocol/faults/fault.ts";
import { hasRole } from "#protocol/wire/requests.ts";
import type * as z from "zod";
import type { Job, KelpieJob } from "#prisma/client/client.ts";
import type { PersonCaller } from "#server/core/api/caller.ts";
import type { Hub } from "#server/core/api/hub.ts";
import { mapInSlices } from "#server/platform/pauses.ts";
import { readStored } from "#server/platform/stored-json.ts";
import { UNREADABLE } from "../settle-end.ts";

/** Shows jobs in Kelpie's form. */

export type WholeKelpieJob = Job & { kelpie: KelpieJob | null };

/** The machine that Kelpie names after a cancellation. */
const BY_USER = "user";

/** Returns a time as Kelpie writes it: in whole seconds. */
const timeOf = (at: Date): string => new Date(Math.floor(at.getTime() / 1_000) * 1_000).toISOString();

export const statusOf = ({ state }: Pick<Job, "state">): KelpieStatus =>
  kelpieStatusOf(jobState.safeParse(state).data ?? "failed");

/** Returns the time of a job's end, under the name of its status; nothing while it is not over. */
function endOf({ endedAt, ...job }: Job): Pick<KelpieJobView, "completed" | "canceled" | "failed"> {
  const status = statusOf(job);
  if (endedAt === null || status === "pending" || status === "running") return {};
  return { [status]: timeOf(endedAt) };
}

/** Returns a job as Kelpie's clients and workers read it; null when its row cannot be read. */
export function viewOf(job: WholeKelpieJob): KelpieJobView | null {
  const { kelpie } = job;
  const storage = readStored(kelpie?.storage ?? "", kelpieStorage);
  const spec = readStored(job.spec, jobSpec);
  if (kelpie === null || storage === null || spec === null) return null;
  const status = statusOf(job);
  const { startedAt } = job;
  return {
    id: job.id,
    user_id: job.ownerId,
    status,
    created: timeOf(job.createdAt),
    ...(startedAt === null ? {} : { started: timeOf(startedAt) }),
    ...endOf(job),
    ...(kelpie.heartbeatAt === null ? {} : { heartbeat: timeOf(kelpie.heartbeatAt) }),
    num_failures: job.failures,
    num_heartbeats: kelpie.heartbeats,
    machine_id: status === "canceled" ? BY_USER : kelpie.machine,
    container_group_id: job.queue,
    command: spec.command,
    arguments: spec.arguments,
    environment: spec.environment,
    max_failures: job.mostFailures,
    heartbeat_interval: kelpie.heartbeatSeconds,
    webhook: kelpie.webhook,
    ...storage,
  };
}

/** Returns a job without what viewers do not see: the values of its environment, and the address of its webhook. */
function shownTo({ person }: PersonCaller, view: KelpieJobView): KelpieJobView {
  if (hasRole(person.role, "operator")) return view;
  const names = Object.keys(view.environment);
  return { ...view, webhook: null, environment: Object.fromEntries(names.map((name) => [name, ""])) };
}

/** Returns one job; null when no job of Kelpie has that id. @throws Fault INTERNAL when its row cannot be read */
export async function readKelpieJob(hub: Hub, caller: PersonCaller, id: string): Promise<KelpieJobView | null> {
  const job = await hub.db.job.findFirst({ where: { id, kelpie: { isNot: null } }, include: { kelpie: true } });
  if (job === null) return null;
  const view = viewOf(job);
  if (view === null) throw new Fault("INTERNAL", { subject: `the job ${id}`, detail: UNREADABLE });
  return shownTo(caller, view);
}

/**
 * Lists the jobs of Kelpie page by page, by the time of their submission. `_count` is the length of the page. One whose row cannot
 * be read is left out.
 */
export async function listKelpieJobs(
  hub: Hub,
  caller: PersonCaller,
  { status, container_group_id: queue, page_size: size, page, asc }: z.infer<typeof kelpieListQuery>,
): Promise<{ _count: number; jobs: KelpieJobView[] }> {
  const rows = await hub.db.job.findMany({
    where: {
      kelpie: { isNot: null },
      ...(status === undefined ? {} : { state: status }),
      ...(queue === undefined ? {} : { queue }),
    },
    include: { kelpie: true },
    orderBy: { seq: asc ? "asc" : "desc" },
    skip: (page - 1) * size,
    take: size,
  });
  const views = await mapInSlices(rows, (job) => {
    const view = viewOf(job);
    return view === null ? null : shownTo(caller, view);
  });
  const jobs = views.filter((view) => view !== null);
  return { _count: jobs.length, jobs };
}
