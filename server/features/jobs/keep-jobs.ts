import { setImmediate } from "node:timers/promises";
import { isExpected } from "#protocol/fleet/node-status.ts";
import { JOB_LEASE_MS } from "#protocol/jobs/node-jobs.ts";
import { formatDuration } from "#protocol/base/units.ts";
import { visibleText } from "#protocol/base/visible-text.ts";
import type { Job, JobAttempt, KelpieJob } from "#prisma/client/client.ts";
import type { Hub } from "#server/core/api/hub.ts";
import { notifyQueues } from "#server/core/live/job-memory.ts";
import { stateOf } from "#server/core/live/live-node.ts";
import { newestComplete } from "#server/core/runs/newest.ts";
import { endByHub, type HubEnd } from "./end-by-hub.ts";

/**
 * Runs with the clock of the hub: ends attempts whose nodes are lost or that reached a limit of their policy, and wakes the
 * nodes that wait when the wait of a job after a failure ends.
 */

/** Longest time between the reservation of a job and the claim of its run. */
const LONGEST_HAND_OUT_MS = 300_000;

/** The columns that are read every second: not the whole spec. */
const WATCHED = {
  job: {
    select: {
      run: true,
      longestSeconds: true,
      noProgressSeconds: true,
      kelpie: { select: { heartbeatSeconds: true, heartbeatAt: true } },
    },
  },
} as const;
type Watched = JobAttempt & {
  job: Pick<Job, "run" | "longestSeconds" | "noProgressSeconds"> & {
    kelpie: Pick<KelpieJob, "heartbeatSeconds" | "heartbeatAt"> | null;
  };
};

/** A Kelpie worker counts as lost after this number of missing heartbeats. */
const MISSED_HEARTBEATS = 2;

/** Returns why the attempt of a Kelpie worker counts as interrupted; null while it sends heartbeats. */
function whySilent(hub: Hub, { jobId, startedAt, machine, job }: Watched): string | null {
  const { heartbeatSeconds = 0, heartbeatAt = null } = job.kelpie ?? {};
  const told = Math.max(heartbeatAt?.getTime() ?? 0, startedAt.getTime());
  // While the hub was away nobody could send one.
  const heardAt = Math.max(hub.jobs.heard.get(jobId) ?? 0, told, hub.startedAt);
  const quietMs = hub.now() - heardAt;
  const where = visibleText(machine ?? "a machine");
  const isLost = quietMs > MISSED_HEARTBEATS * heartbeatSeconds * 1_000;
  return isLost ? `the Kelpie worker on ${where} sent no heartbeat for ${formatDuration(quietMs)}` : null;
}

/** Returns why an attempt counts as interrupted; null while its node works on it. */
export function whyLost(hub: Hub, open: Watched): string | null {
  if (open.nodeId === null) return whySilent(hub, open);
  const node = hub.live.nodes.get(open.nodeId);
  if (node === undefined) return "the hub does not know its node any more";
  const state = stateOf(node);
  if (state === "revoked") return `${node.name} was revoked`;
  if (state === "offline") return `${node.name} stopped`;
  if (!isExpected(state)) return `${node.name} is silent`;
  const startedAt = open.startedAt.getTime();
  if (open.epoch === null) {
    if (startedAt < hub.startedAt) return "the hub ended while it handed the job out";
    return hub.now() - startedAt > LONGEST_HAND_OUT_MS ? `${node.name} could not be given the run in time` : null;
  }
  const writer = hub.live.writers.get(open.job.run);
  if (writer !== undefined && writer.nodeId !== open.nodeId && writer.epoch > open.epoch) {
    return "another node claimed its run";
  }
  const heardAt = Math.max(hub.jobs.heard.get(open.jobId) ?? 0, startedAt, hub.startedAt);
  const quietMs = hub.now() - heardAt;
  return quietMs > JOB_LEASE_MS ? `${node.name} did not ask about it for ${formatDuration(quietMs)}` : null;
}

/** Returns the limit that an attempt has reached. Notes when its newest safe step rises. */
async function findLimit(hub: Hub, open: Watched): Promise<HubEnd | null> {
  const { longestSeconds, noProgressSeconds } = open.job;
  const now = hub.now();
  if (longestSeconds !== null && now - open.startedAt.getTime() > longestSeconds * 1_000) {
    return { kind: "stopped", limit: "longest" };
  }
  if (noProgressSeconds === null) return null;
  // Nodes cannot commit while the hub is away, so the time of an outage does not count.
  const sinceAt = Math.max((open.progressAt ?? open.startedAt).getTime(), hub.startedAt);
  if (now - sinceAt <= noProgressSeconds * 1_000) return null;
  const newest = await newestComplete(hub.db, open.job.run);
  const before = open.safeStep ?? open.fromStep ?? -1n;
  if (newest === null || newest.step <= before) return { kind: "stopped", limit: "no-progress" };
  await hub.db.jobAttempt.updateMany({
    where: { jobId: open.jobId, attempt: open.attempt, endedAt: null },
    data: { safeStep: newest.step, progressAt: newest.committedAt ?? new Date(now) },
  });
  return null;
}

/** Time between two calls. */
const TICK_MS = 1_000;

/** Wakes the queues in which the wait of a job ended since the last call. */
async function notifyDueQueues(hub: Hub, now: number): Promise<void> {
  // The last call may lie in the future: the clock was set back.
  const from = Math.min(hub.jobs.dueThrough, now - TICK_MS);
  // Nodes that ask later find what is due by then.
  const isAwaited = hub.jobs.queues.size > 0;
  const where = { state: "waiting", dueAt: { gt: new Date(from), lte: new Date(now) } };
  const due = isAwaited ? await hub.db.job.groupBy({ by: ["queue"], where }) : [];
  hub.jobs.dueThrough = now;
  notifyQueues(
    hub.jobs,
    due.map(({ queue }) => queue),
  );
}

async function endLost(hub: Hub): Promise<void> {
  if (!hub.jobs.mayRun) return;
  // An attempt that is opened while the rows are read sets it again.
  hub.jobs.mayRun = false;
  try {
    const all = await hub.db.jobAttempt.findMany({ where: { endedAt: null }, include: WATCHED });
    if (all.length > 0) hub.jobs.mayRun = true;
    for (const open of all) {
      try {
        const why = whyLost(hub, open);
        const end: HubEnd | null = why === null ? await findLimit(hub, open) : { kind: "interrupted", why };
        if (end !== null) await endByHub(hub, open, end);
      } catch (error) {
        // One failure must not keep the other attempts from ending.
        const { jobId, attempt } = open;
        hub.log.error({ error, jobId, attempt }, "the end of an attempt of a job could not be decided");
      }
      await setImmediate();
    }
  } catch (error) {
    hub.jobs.mayRun = true;
    throw error;
  }
}

/** Does what is due. Two calls at once follow each other. */
export const keepJobs = (hub: Hub): Promise<void> =>
  hub.locks.run("keep jobs", async () => {
    await notifyDueQueues(hub, hub.now());
    await endLost(hub);
  });
