import type * as z from "zod";
import { jobState, type JobState } from "#protocol/jobs/job-states.ts";
import type { JobQueueRow, setQueueCapsInput } from "#protocol/jobs/job-views.ts";
import { audit } from "#server/core/api/audit.ts";
import type { PersonCaller } from "#server/core/api/caller.ts";
import type { Hub } from "#server/core/api/hub.ts";
import type { Context } from "#server/core/api/trpc.ts";
import { emit } from "#server/core/events/record-event.ts";
import { notifyQueues } from "#server/core/live/job-memory.ts";

const noJobs = (): Record<JobState, number> => ({ waiting: 0, running: 0, done: 0, failed: 0, canceled: 0 });

const NOTHING_SET = { pausedAt: null, pausedBy: null, mostRunning: null, mostPerOwner: null };

/** Returns every queue that has jobs, is paused or has a cap, by name. */
export async function listQueues(hub: Hub): Promise<JobQueueRow[]> {
  const groups = await hub.db.job.groupBy({ by: ["queue", "state"], _count: true });
  const rows = new Map<string, JobQueueRow>();
  const rowOf = (queue: string): JobQueueRow => {
    const row = rows.get(queue) ?? { queue, counts: noJobs(), ...NOTHING_SET };
    rows.set(queue, row);
    return row;
  };
  for (const { queue, state, _count: count } of groups) {
    const known = jobState.safeParse(state);
    if (known.success) rowOf(queue).counts[known.data] = count;
  }
  const isSet = [{ pausedAt: { not: null } }, { mostRunning: { not: null } }, { mostPerOwner: { not: null } }];
  for (const { name, pausedAt, ...set } of await hub.db.jobQueue.findMany({ where: { OR: isSet } })) {
    Object.assign(rowOf(name), { ...set, pausedAt: pausedAt?.getTime() ?? null });
  }
  return [...rows.values()].toSorted((a, b) => (a.queue < b.queue ? -1 : 1));
}

/** Pauses a queue or ends the pause. Running jobs go on. */
export async function setPaused(
  context: Context & { caller: PersonCaller },
  { queue, isPaused }: { queue: string; isPaused: boolean },
): Promise<{ ok: true }> {
  const { hub, caller } = context;
  const pausedAt = isPaused ? new Date(hub.now()) : null;
  const pausedBy = isPaused ? caller.person.email : null;
  await hub.db.$transaction(async (tx) => {
    await tx.jobQueue.upsert({
      where: { name: queue },
      update: { pausedAt, pausedBy },
      create: { name: queue, pausedAt, pausedBy },
    });
    const action = isPaused ? "pause queue" : "resume queue";
    await audit({ db: tx, now: hub.now }, caller, { action, subject: queue });
  });
  notifyQueues(hub.jobs, [queue]);
  emit(hub, null, ["jobs"]);
  return { ok: true };
}

/** Sets how many jobs of a queue run at a time. Jobs that run above a new cap go on. */
export async function setCaps(
  context: Context & { caller: PersonCaller },
  { queue, mostRunning, mostPerOwner }: z.infer<typeof setQueueCapsInput>,
): Promise<{ ok: true }> {
  const { hub, caller } = context;
  const caps = { mostRunning, mostPerOwner };
  await hub.db.$transaction(async (tx) => {
    await tx.jobQueue.upsert({ where: { name: queue }, update: caps, create: { name: queue, ...caps } });
    const words = `${mostRunning ?? "any number"} running, ${mostPerOwner ?? "any number"} of one person`;
    await audit({ db: tx, now: hub.now }, caller, { action: "set caps of queue", subject: `${queue}: ${words}` });
  });
  notifyQueues(hub.jobs, [queue]);
  emit(hub, null, ["jobs"]);
  return { ok: true };
}
