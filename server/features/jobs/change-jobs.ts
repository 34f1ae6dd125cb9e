import type * as z from "zod";
import { jobStatesBefore } from "#protocol/jobs/job-states.ts";
import type { ChangedJobs, changeJobsInput } from "#protocol/jobs/job-views.ts";
import type { Prisma } from "#prisma/client/client.ts";
import type { Transaction } from "#prisma/open.ts";
import { formatCount } from "#protocol/base/units.ts";
import { audit } from "#server/core/api/audit.ts";
import type { PersonCaller } from "#server/core/api/caller.ts";
import type { Context } from "#server/core/api/trpc.ts";
import { countUp } from "#server/platform/counters.ts";
import { emit, recordEvent, type NewEvent } from "#server/core/events/record-event.ts";
import { whereOf } from "./job-filter.ts";
import { ringForRuns } from "./settle-end.ts";

type Input = z.infer<typeof changeJobsInput>;
type Caller = Context & { caller: PersonCaller };

interface Change {
  action: string;
  kind: NewEvent["kind"];
  /** Verb of the event, for example "canceled". */
  verb: string;
  to: "canceled" | "waiting";
  apply: (tx: Transaction, where: Prisma.JobWhereInput, at: Date) => Promise<number>;
}

const CANCEL: Change = {
  action: "cancel jobs",
  kind: "job-canceled",
  verb: "canceled",
  to: "canceled",
  apply: async (tx, where, at) => {
    await tx.jobAttempt.updateMany({
      where: { endedAt: null, job: where },
      data: { endedAt: at, endedBy: "person", outcome: "canceled", reason: "somebody canceled the job" },
    });
    const data = { state: "canceled", endedAt: at, reason: "somebody canceled it" };
    return (await tx.job.updateMany({ where, data })).count;
  },
};

const RETRY: Change = {
  action: "retry jobs",
  kind: "job-submitted",
  verb: "retried",
  to: "waiting",
  apply: async (tx, where, at) => {
    await tx.jobBan.deleteMany({ where: { job: where } });
    const data = { state: "waiting", endedAt: null, dueAt: at, failures: 0, setbacks: 0, reason: null };
    return (await tx.job.updateMany({ where, data })).count;
  },
};

/**
 * Changes the chosen jobs that are in a state from which a person may move them, and says how many these are. With `dryRun` it
 * changes nothing.
 */
async function changeJobs(context: Caller, { which, dryRun }: Input, change: Change): Promise<ChangedJobs> {
  const { hub, caller } = context;
  const chosen = "ids" in which ? { id: { in: which.ids } } : whereOf(which.filter);
  const movable = { state: { in: jobStatesBefore(change.to, "person") } };
  const where = { AND: [chosen, movable] };
  const now = hub.now();
  const { counts, jobs, event } = await hub.db.$transaction(
    async (tx) => {
      const found = await tx.job.count({ where: chosen });
      const running = await tx.job.count({ where: { AND: [chosen, movable, { state: "running" }] } });
      const jobs = await tx.job.findMany({ where, select: { queue: true, run: true }, distinct: ["queue", "run"] });
      if (dryRun || jobs.length === 0) {
        return { counts: { found, running, changed: await tx.job.count({ where }) }, jobs: [], event: null };
      }
      const changed = await change.apply(tx, where, new Date(now));
      const what = changed === 1 ? "one job" : `${formatCount(changed)} jobs`;
      await audit({ db: tx, now: hub.now }, caller, { action: change.action, subject: what });
      const text = `${caller.person.email} ${change.verb} ${what}`;
      const event = await recordEvent(tx, { at: now, kind: change.kind, work: "moving", text });
      return { counts: { found, running, changed }, jobs, event };
    },
    { timeout: 60_000 },
  );
  if (event !== null) {
    if (change === CANCEL) countUp(hub.counters.jobAttempts, "canceled", counts.running);
    emit(hub, event, ["jobs"]);
    await ringForRuns(hub, jobs);
  }
  return counts;
}

/** Cancels jobs for good. Their nodes learn it when they next ask about their attempts. */
export const cancelJobs = (context: Caller, input: Input): Promise<ChangedJobs> => changeJobs(context, input, CANCEL);

/** Lets failed jobs wait again, with no failure counted and no node banned. */
export const retryJobs = (context: Caller, input: Input): Promise<ChangedJobs> => changeJobs(context, input, RETRY);
