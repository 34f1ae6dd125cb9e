import type * as z from "zod";
import { Fault } from "#protocol/faults/fault.ts";
import { jobSpec, type JobSpec } from "#protocol/jobs/job-spec.ts";
import type { JobAttemptRow, JobDetail, JobRow, listJobsInput } from "#protocol/jobs/job-views.ts";
import { hasRole } from "#protocol/wire/requests.ts";
import type { PersonCaller } from "#server/core/api/caller.ts";
import type { Hub } from "#server/core/api/hub.ts";
import type { Context } from "#server/core/api/trpc.ts";
import { whereOf } from "./job-filter.ts";
import { attemptRowOf, jobRowOf, linkOf, LISTED } from "./job-row.ts";
import { readStored } from "#server/platform/stored-json.ts";
import { stepsNow } from "./steps-now.ts";
import { whyWaits } from "./why-waits.ts";

const MOST_ATTEMPTS = 200;
const MOST_BANS = 200;
const MOST_LINKS = 200;
const LINKED = { select: { id: true, name: true, state: true } } as const;

/** Lists jobs, newest first, page by page. */
export async function listJobs(
  hub: Hub,
  input: z.infer<typeof listJobsInput>,
): Promise<{ rows: JobRow[]; nextCursor: number | null }> {
  const { cursor, limit } = input;
  const found = await hub.db.job.findMany({
    where: { ...whereOf(input), ...(cursor === null ? {} : { seq: { lt: cursor } }) },
    orderBy: { seq: "desc" },
    omit: { spec: true },
    include: LISTED,
    take: limit + 1,
  });
  const rows = found.slice(0, limit).map((job) => jobRowOf(hub, job));
  return { rows, nextCursor: found.length > limit ? (rows.at(-1)?.number ?? null) : null };
}

/** Returns one job with its attempts. Viewers do not see the values of its environment. @throws Fault NOT_FOUND */
export async function readJob(
  { hub, caller }: Context & { caller: PersonCaller },
  { id }: { id: string },
): Promise<JobDetail> {
  const job = await hub.db.job.findUnique({
    where: { id },
    include: {
      ...LISTED,
      attemptRows: { orderBy: { attempt: "desc" }, take: MOST_ATTEMPTS },
      bans: {
        where: { until: { gt: new Date(hub.now()) } },
        orderBy: { until: "asc" },
        take: MOST_BANS,
        include: { node: { select: { id: true, name: true } } },
      },
      after: { take: MOST_LINKS, include: { before: LINKED } },
      followers: { take: MOST_LINKS, include: { job: LINKED } },
      machineBans: { where: { until: { gt: new Date(hub.now()) } }, orderBy: { until: "asc" }, take: MOST_BANS },
    },
  });
  if (job === null) throw new Fault("NOT_FOUND", { subject: "this job" });
  const spec = readStored(job.spec, jobSpec);
  const attempts: JobAttemptRow[] = [];
  for (const row of job.attemptRows) {
    const { endedAt, nodeId } = row;
    const steps = endedAt === null && nodeId !== null ? await stepsNow(hub, hub.db, { nodeId, run: job.run }) : {};
    attempts.push({ ...attemptRowOf(hub, row), ...steps });
  }
  const isTrusted = hasRole(caller.person.role, "operator");
  return {
    ...jobRowOf(hub, job),
    spec: isTrusted || spec === null ? spec : withoutValues(spec),
    attemptRows: attempts,
    after: job.after.map(({ before }) => linkOf(before)),
    waits: await whyWaits(hub, job),
    followers: job.followers.map((link) => linkOf(link.job)),
    bans: [
      ...job.bans.map(({ node, until, reason }) => ({ node, until: until.getTime(), reason })),
      ...job.machineBans.map(({ machine, until, reason }) => {
        return { node: { id: null, name: machine }, until: until.getTime(), reason };
      }),
    ],
  };
}

function withoutValues(spec: JobSpec): JobSpec {
  const names = Object.keys(spec.environment);
  return { ...spec, environment: Object.fromEntries(names.map((name) => [name, ""])) };
}
