import type { JobFilter } from "#protocol/jobs/job-views.ts";
import type { Prisma } from "#prisma/client/client.ts";

/** Returns the database condition of a filter. */
export function whereOf({ states, queue, run, label, owner, words }: JobFilter): Prisma.JobWhereInput {
  return {
    ...(states.length === 0 ? {} : { state: { in: states } }),
    ...(queue === null ? {} : { queue }),
    ...(run === null ? {} : { run }),
    ...(label === null ? {} : { labels: { some: label } }),
    ...(owner === null ? {} : { owner }),
    ...(words === "" ? {} : { name: { contains: words } }),
  };
}
