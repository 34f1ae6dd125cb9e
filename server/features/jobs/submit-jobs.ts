import type * as z from "zod";
import { Fault } from "#protocol/faults/fault.ts";
import { runName, type RunName } from "#protocol/base/names.ts";
import { jobSpec, specOf, type JobSpec, type JobSubmission } from "#protocol/jobs/job-spec.ts";
import type { JobState } from "#protocol/jobs/job-states.ts";
import { expandJobs, type ExpandedJob } from "#protocol/jobs/matrix.ts";
import type { SubmittedJob, submitJobsInput } from "#protocol/jobs/job-views.ts";
import type { Job } from "#prisma/client/client.ts";
import type { Transaction } from "#prisma/open.ts";
import { formatCount } from "#protocol/base/units.ts";
import { audit } from "#server/core/api/audit.ts";
import type { PersonCaller } from "#server/core/api/caller.ts";
import type { Context } from "#server/core/api/trpc.ts";
import { emit, recordEvent } from "#server/core/events/record-event.ts";
import { notifyQueues } from "#server/core/live/job-memory.ts";
import type { Hub } from "#server/core/api/hub.ts";
import { newId } from "#server/platform/random-id.ts";
import { readStored } from "#server/platform/stored-json.ts";
import { checkPlaces } from "./bytes/check-places.ts";
import { holdNew } from "./order/follow-jobs.ts";
import { inPieces, rowOf, type Planned } from "./job-columns.ts";
import { hasSecrets, sealSecrets, type SealedSecrets } from "./job-secrets.ts";
import { planOrder } from "./order/plan-order.ts";

const LONGEST_RUN = 64;

/** Returns those of these names that a run or a job has. */
async function takenNames(tx: Transaction, names: readonly string[]): Promise<Set<string>> {
  const taken = new Set<string>();
  for (const some of inPieces(names)) {
    for (const { name } of await tx.run.findMany({ where: { name: { in: some } }, select: { name: true } }))
      taken.add(name);
    for (const { run } of await tx.job.findMany({ where: { run: { in: some } }, select: { run: true } }))
      taken.add(run);
  }
  return taken;
}

/** Returns the run of a job that names none: its name if that is free, else one with a part of its id. */
function runOf({ name }: JobSpec, { id, taken }: { id: string; taken: Set<string> }): RunName {
  const part = id.slice(0, 8);
  const base = runName.safeParse(name).success && name !== undefined ? name : "job";
  const chosen = base !== "job" && !taken.has(base) ? base : `${base.slice(0, LONGEST_RUN - part.length - 1)}-${part}`;
  taken.add(chosen);
  return runName.parse(chosen);
}

/** A job of a submission. Its id and its sealed secrets are of use only if it is new. */
interface Wanted {
  id: string;
  /** Its name before the parameters of a matrix were filled in. */
  written: string | undefined;
  spec: JobSpec;
  job: JobSubmission;
  sealed: SealedSecrets | null;
}

/** Prepares what takes time and must not happen while the database waits. @throws Fault BAD_INPUT */
async function prepare(hub: Hub, jobs: readonly ExpandedJob[]): Promise<Wanted[]> {
  const wanted: Wanted[] = [];
  const profileIds = await checkPlaces(hub, jobs);
  for (const some of inPieces(jobs)) {
    const sealed = some.map(async ({ job, written }) => {
      const id = newId();
      return { id, job, written, spec: specOf(job, profileIds), sealed: await sealSecrets(hub, id, job.secrets) };
    });
    wanted.push(...(await Promise.all(sealed)));
  }
  return wanted;
}

/** Returns the jobs of this person by idempotency key. */
async function findKnown(
  tx: Transaction,
  { ownerId, wanted }: { ownerId: string; wanted: readonly Wanted[] },
): Promise<Map<string, Job>> {
  const keys = [...new Set(wanted.flatMap(({ spec }) => spec.idempotencyKey ?? []))];
  const known = new Map<string, Job>();
  for (const some of inPieces(keys)) {
    const rows = await tx.job.findMany({ where: { ownerId, idempotencyKey: { in: some } } });
    for (const row of rows) known.set(row.idempotencyKey ?? "", row);
  }
  return known;
}

const refuseOther = (index: number, { idempotencyKey }: JobSpec): Fault => {
  const detail = `the idempotency key ${idempotencyKey ?? ""} came with another job before`;
  return new Fault("CONFLICT", { op: "submit", subject: `job ${index + 1}`, detail });
};

const isSame = (a: unknown, b: unknown): boolean => JSON.stringify(a) === JSON.stringify(b);

interface Storing {
  hub: Hub;
  owner: { id: string; email: string };
  at: Date;
}

/**
 * Returns for each job of the request the job that it is: a new one, or one with the same key. @throws Fault CONFLICT when a key
 * came with another job before
 */
async function placeJobs(
  tx: Transaction,
  wanted: readonly Wanted[],
  { hub, known }: { hub: Hub; known: ReadonlyMap<string, Job> },
): Promise<{ id: string; isNew: boolean }[]> {
  const fresh = new Map<string, Wanted>();
  const places: { id: string; isNew: boolean }[] = [];
  for (const [index, one] of wanted.entries()) {
    const { spec, job } = one;
    const key = spec.idempotencyKey;
    const before = key === undefined ? undefined : known.get(key);
    const twin = key === undefined ? undefined : fresh.get(key);
    if (before !== undefined) {
      const isEqual =
        isSame(readStored(before.spec, jobSpec), spec) &&
        (await hasSecrets(hub, tx, { id: before.id, secrets: job.secrets }));
      if (!isEqual) throw refuseOther(index, spec);
      places.push({ id: before.id, isNew: false });
    } else if (twin !== undefined) {
      if (!isSame(twin.job, job)) throw refuseOther(index, spec);
      places.push({ id: twin.id, isNew: false });
    } else {
      places.push({ id: one.id, isNew: true });
      if (key !== undefined) fresh.set(key, one);
    }
  }
  return places;
}

/** Stores the jobs that are new and returns all of them in the order of the request. @throws Fault CONFLICT */
async function store(tx: Transaction, wanted: readonly Wanted[], about: Storing): Promise<SubmittedJob[]> {
  const known = await findKnown(tx, { ownerId: about.owner.id, wanted });
  const taken = await takenNames(tx, [...new Set(wanted.flatMap(({ spec }) => spec.name ?? []))]);
  const places = await placeJobs(tx, wanted, { hub: about.hub, known });
  const planned: Planned[] = wanted
    .filter((_, index) => places[index]?.isNew === true)
    .map(({ id, spec }) => ({ id, spec, run: spec.run ?? runOf(spec, { id, taken }) }));
  const rows = new Map([...known.values()].map((row) => [row.id, row]));
  for (const some of inPieces(planned)) {
    const made = await tx.job.createManyAndReturn({ data: some.map((one) => rowOf(one, about)) });
    for (const row of made) rows.set(row.id, row);
  }
  const labels = planned.flatMap(({ id, spec }) =>
    Object.entries(spec.labels).map(([name, value]) => ({ jobId: id, name, value })),
  );
  for (const some of inPieces(labels)) await tx.jobLabel.createMany({ data: some });
  const ordered = wanted.map(({ id, written, spec: { name, after } }, index) => {
    const names = [...new Set([name ?? "", written ?? ""])].filter((one) => one !== "");
    return { id: places[index]?.id ?? id, isNew: places[index]?.isNew === true, names, after };
  });
  await holdNew(tx, about.hub, await planOrder(tx, ordered));
  const moving = planned.flatMap(({ id, spec }) =>
    spec.inputs.length + spec.outputs.length === 0 ? [] : { jobId: id },
  );
  for (const some of inPieces(moving)) await tx.jobBytes.createMany({ data: some });
  const isNew = new Set(planned.map(({ id }) => id));
  const secrets = wanted.flatMap(({ id, sealed }) =>
    sealed === null || !isNew.has(id) ? [] : { jobId: id, ...sealed },
  );
  for (const some of inPieces(secrets)) await tx.jobSecret.createMany({ data: some });
  return places.flatMap((place) => {
    const row = rows.get(place.id);
    if (row === undefined) return [];
    const { seq, run, queue, state } = row;
    return { id: place.id, number: seq, run, queue, state: state as JobState, isNew: place.isNew };
  });
}

/**
 * Stores jobs, all of them or none; of a job with a matrix one for each combination. A job with the idempotency key of an earlier one of the same person is that job. @throws
 * Fault BAD_INPUT for a matrix, CONFLICT when the earlier one had another spec or other secrets
 */
export async function submitJobs(
  context: Pick<Context, "hub"> & { caller: PersonCaller },
  { jobs }: z.infer<typeof submitJobsInput>,
): Promise<{ jobs: SubmittedJob[] }> {
  const { hub, caller } = context;
  const { id, email } = caller.person;
  const now = hub.now();
  const expanded = expandJobs(jobs);
  if ("wrong" in expanded) {
    const subject = `job ${expanded.index + 1}`;
    throw new Fault("BAD_INPUT", { op: "submit", subject, detail: expanded.wrong });
  }
  const wanted = await prepare(hub, expanded.jobs);
  const { stored, event } = await hub.db.$transaction(
    async (tx) => {
      const stored = await store(tx, wanted, { hub, owner: { id, email }, at: new Date(now) });
      const fresh = stored.filter(({ isNew }) => isNew);
      const [first] = fresh;
      if (first === undefined) return { stored, event: null };
      const queues = [...new Set(fresh.map(({ queue }) => queue))];
      const into = queues.length === 1 ? `the queue ${first.queue}` : `${formatCount(queues.length)} queues`;
      const what = fresh.length === 1 ? "one job" : `${formatCount(fresh.length)} jobs`;
      await audit({ db: tx, now: hub.now }, caller, { action: "submit jobs", subject: `${what} to ${into}` });
      const text = `${email} submitted ${what} to ${into}`;
      const about = fresh.length === 1 ? { run: first.run } : {};
      const line = { at: now, kind: "job-submitted" as const, work: "moving" as const, text };
      return { stored, event: await recordEvent(tx, { ...line, ...about }) };
    },
    { timeout: 60_000 },
  );
  if (event !== null) emit(hub, event, ["jobs"]);
  notifyQueues(
    hub.jobs,
    stored.flatMap(({ isNew, queue }) => (isNew ? queue : [])),
  );
  return { jobs: stored };
}
