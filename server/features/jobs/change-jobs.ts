import type * as z from "zod";
import { jobStatesBefore } from "#protocol/jobs/job-states.ts";
import type { ChangedJobs, changeJobsInput } from "#protocol/jobs/job-views.ts";
import type { Prisma } from "#prisma/client/client.ts";
import type { Transaction } from "#prisma/open.ts";
import { formatCount } from "#protocol/base/units.ts";
import { audit } from "#server/core/api/audit.ts";
import type { PersonCaller } from "#server/core/api/caller.ts";
import type { Hub } from "#server/core/api/hub.ts";
import type { Context } from "#server/core/api/trpc.ts";
import { countUp } from "#server/platform/counters.ts";
import { emit, recordEvent, type NewEvent } from "#server/core/events/record-event.ts";
import { announceFollowed, retryFollowers, settleFollowers, type Followed } from "./order/follow-jobs.ts";
import { whereOf } from "./job-filter.ts";
import { notifyForRuns } from "./settle-end.ts";

type Input = z.infer<typeof changeJobsInput>;
type Caller = Pick<Context, "hub"> & { caller: PersonCaller };

interface Change {
  action: string;
  kind: NewEvent["kind"];
  /** Verb of the event, for example "canceled". */
  verb: string;
  to: "canceled" | "waiting";
  apply: (tx: Transaction, where: Prisma.JobWhereInput, at: Date) => Promise<number>;
  /** Moves the jobs that follow the changed ones. */
  follow: (tx: Transaction, hub: Hub, ids: readonly string[]) => Promise<Followed>;
}

const CANCEL: Change = {
  action: "cancel jobs",
  kind: "job-canceled",
  verb: "canceled",
  to: "canceled",
  follow: settleFollowers,
  apply: async (tx, where, at) => {
    await tx.jobAttempt.updateMany({
      where: { endedAt: null, job: where },
      data: { endedAt: at, endedBy: "person", outcome: "canceled", reason: "somebody canceled the job" },
    });
    await tx.jobSecret.deleteMany({ where: { job: where } });
    const data = { state: "canceled", endedAt: at, reason: "somebody canceled it" };
    return (await tx.job.updateMany({ where, data })).count;
  },
};

const RETRY: Change = {
  action: "retry jobs",
  kind: "job-submitted",
  verb: "retried",
  to: "waiting",
  follow: retryFollowers,
  apply: async (tx, where, at) => {
    await tx.jobBan.deleteMany({ where: { job: where } });
    await tx.jobMachineBan.deleteMany({ where: { job: where } });
    const data = { state: "waiting", endedAt: null, dueAt: at, failures: 0, setbacks: 0, reason: null };
    return (await tx.job.updateMany({ where, data })).count;
  },
};

/** Jobs of one transaction: other callers of the hub wait for it. */
const AT_ONCE = 1_000;

interface Piece {
  where: Prisma.JobWhereInput;
  /** Numbers of the jobs: those above `after`, up to `through`. */
  after: number;
  through: number;
}

const textOf = (count: number): string => (count === 1 ? "one job" : `${formatCount(count)} jobs`);

/** Changes the first jobs of a piece in one transaction, which records who did it. */
async function changeNext({ hub, caller }: Caller, { where, after, through }: Piece, change: Change) {
  return hub.db.$transaction(
    async (tx) => {
      const jobs = await tx.job.findMany({
        where: { AND: [where, { seq: { gt: after, lte: through } }] },
        select: { id: true, seq: true, queue: true, run: true, state: true },
        orderBy: { seq: "asc" },
        take: AT_ONCE,
      });
      const last = jobs.at(-1);
      if (last === undefined) return { jobs, changed: 0, next: null, followed: null };
      const these = { AND: [where, { seq: { gt: after, lte: last.seq } }] };
      const changed = await change.apply(tx, these, new Date(hub.now()));
      const ids = jobs.map(({ id }) => id);
      const followed = await change.follow(tx, hub, ids);
      await audit({ db: tx, now: hub.now }, caller, { action: change.action, subject: textOf(changed) });
      return { jobs, changed, followed, next: jobs.length < AT_ONCE ? null : last.seq };
    },
    { timeout: 60_000 },
  );
}

/**
 * Changes the chosen jobs that are in a state from which a person may move them, and says how many these are. With `dryRun` it
 * changes nothing. Jobs that are submitted meanwhile are not changed.
 */
async function changeJobs(
  context: Caller,
  { chosen, dryRun }: { chosen: Prisma.JobWhereInput; dryRun: boolean },
  change: Change,
): Promise<ChangedJobs> {
  const { hub, caller } = context;
  const where = { AND: [chosen, { state: { in: jobStatesBefore(change.to, "person") } }] };
  const found = await hub.db.job.count({ where: chosen });
  if (dryRun) {
    const running = await hub.db.job.count({ where: { AND: [where, { state: "running" }] } });
    return { found, running, changed: await hub.db.job.count({ where }) };
  }
  const newest = await hub.db.job.aggregate({ _max: { seq: true } });
  const through = newest._max.seq ?? 0;
  const done = { changed: 0, running: 0 };
  const followed: Followed[] = [];
  const touched = new Map<string, { queue: string; run: string }>();
  try {
    for (let after: number | null = 0; after !== null;) {
      const { jobs, changed, next, ...part }: Awaited<ReturnType<typeof changeNext>> = await changeNext(
        context,
        { where, after, through },
        change,
      );
      done.changed += changed;
      if (part.followed !== null) followed.push(part.followed);
      for (const { queue, run, state } of jobs) {
        touched.set(`${queue} ${run}`, { queue, run });
        if (state === "running") done.running++;
      }
      after = next;
    }
  } finally {
    // Also when a later transaction fails: what the earlier ones changed stays.
    if (done.changed > 0) {
      const text = `${caller.person.email} ${change.verb} ${textOf(done.changed)}`;
      const line = { at: hub.now(), kind: change.kind, work: "moving" as const, text };
      const event = await hub.db.$transaction((tx) => recordEvent(tx, line));
      if (change === CANCEL) countUp(hub.counters.jobAttempts, "canceled", done.running);
      emit(hub, event, ["jobs"]);
      for (const one of followed) announceFollowed(hub, one);
      await notifyForRuns(hub, [...touched.values()]);
    }
  }
  return { found, ...done };
}

const requestOf = ({ which, dryRun }: Input) => ({
  chosen: "ids" in which ? { id: { in: which.ids } } : whereOf(which.filter),
  dryRun,
});

/** Cancels jobs for good. Their nodes learn it when they next ask about their attempts. */
export const cancelJobs = (context: Caller, input: Input): Promise<ChangedJobs> =>
  changeJobs(context, requestOf(input), CANCEL);

/** Cancels the jobs of a condition for good. */
export const cancelWhere = (context: Caller, chosen: Prisma.JobWhereInput): Promise<ChangedJobs> =>
  changeJobs(context, { chosen, dryRun: false }, CANCEL);

/** Lets failed jobs wait again, with no failure counted and no node banned. */
export const retryJobs = (context: Caller, input: Input): Promise<ChangedJobs> =>
  changeJobs(context, requestOf(input), RETRY);
