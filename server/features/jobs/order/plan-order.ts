import { Fault } from "#protocol/faults/fault.ts";
import { id as jobId } from "#protocol/base/names.ts";
import { formatCount } from "#protocol/base/units.ts";
import type { Transaction } from "#prisma/open.ts";
import { inPieces } from "../job-columns.ts";

/** A job of a submission, with the id that it has or gets. */
export interface Ordered {
  id: string;
  isNew: boolean;
  /** Its name, and its name before the parameters were filled in. */
  names: readonly string[];
  after: readonly string[];
}

/** Limits the dependencies of one submission, because one transaction stores all of them. */
const MOST_LINKS = 10_000;

const refuse = (index: number, detail: string, code: "BAD_INPUT" | "CONFLICT" = "BAD_INPUT"): Fault =>
  new Fault(code, { op: "submit", subject: `job ${index + 1}`, detail });

interface Link {
  index: number;
  jobId: string;
  afterId: string;
}

/** Resolves what new jobs follow. @throws Fault BAD_INPUT for what is neither the name of an earlier job nor an id */
function resolve(jobs: readonly Ordered[]): Link[] {
  const named = new Map<string, string[]>();
  const links = new Map<string, Link>();
  for (const [index, { id, isNew, names, after }] of jobs.entries()) {
    for (const word of isNew ? after : []) {
      const known = named.get(word) ?? (jobId.safeParse(word).success ? [word] : null);
      if (known === null) {
        const what = `after: no earlier job of this submission is named ${word}, and it is not the id of a job`;
        throw refuse(index, what);
      }
      for (const afterId of known) links.set(`${id} ${afterId}`, { index, jobId: id, afterId });
      if (links.size > MOST_LINKS)
        throw refuse(index, `after: jobs of one submission follow ${formatCount(MOST_LINKS)} jobs together at most`);
    }
    for (const name of names) named.set(name, [...(named.get(name) ?? []), id]);
  }
  return [...links.values()];
}

/**
 * Returns which new jobs of a submission follow which jobs. @throws Fault BAD_INPUT for an unknown job, CONFLICT for one that
 * failed or was canceled
 */
export async function planOrder(
  tx: Pick<Transaction, "job">,
  jobs: readonly Ordered[],
): Promise<{ jobId: string; afterId: string }[]> {
  const links = resolve(jobs);
  const fresh = new Set(jobs.filter(({ isNew }) => isNew).map(({ id }) => id));
  const others = [...new Set(links.map(({ afterId }) => afterId))].filter((id) => !fresh.has(id));
  const states = new Map<string, { name: string; state: string }>();
  for (const some of inPieces(others)) {
    const select = { id: true, name: true, state: true };
    for (const { id, ...row } of await tx.job.findMany({ where: { id: { in: some } }, select })) states.set(id, row);
  }
  for (const { index, afterId } of links) {
    if (fresh.has(afterId)) continue;
    const before = states.get(afterId);
    if (before === undefined) throw refuse(index, `after: there is no job ${afterId}`);
    if (before.state === "failed")
      throw refuse(index, `after: the job ${before.name} has failed; retry it first`, "CONFLICT");
    if (before.state === "canceled") throw refuse(index, `after: the job ${before.name} was canceled`, "CONFLICT");
  }
  return links.map(({ jobId: follower, afterId }) => ({ jobId: follower, afterId }));
}
