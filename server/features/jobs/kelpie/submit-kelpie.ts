import type { KelpieJobView, KelpieSubmission } from "#protocol/jobs/kelpie.ts";
import { formatCount } from "#protocol/base/units.ts";
import { audit } from "#server/core/api/audit.ts";
import type { PersonCaller } from "#server/core/api/caller.ts";
import type { Hub } from "#server/core/api/hub.ts";
import type { EventRow } from "#protocol/wire/views.ts";
import type { Transaction } from "#prisma/open.ts";
import { emit, recordEvent } from "#server/core/events/record-event.ts";
import { newId } from "#server/platform/random-id.ts";
import { inPieces, rowOf } from "../job-columns.ts";
import { viewOf, type WholeKelpieJob } from "./show-kelpie.ts";

/** A job of Kelpie that is to be stored. */
export interface PlannedKelpie extends KelpieSubmission {
  id: string;
  /** Idempotency key of an imported job. */
  key?: string;
  failures?: number;
  /** Epoch ms before which it is not handed out. Default: the time of the submission. */
  dueAt?: number;
}

/** Stores jobs of Kelpie with their entry in the audit log and their event. `did`: the verb of both. */
export async function storeKelpieJobs(
  tx: Transaction,
  planned: readonly PlannedKelpie[],
  about: { hub: Hub; caller: PersonCaller; did: { action: string; text: string } },
): Promise<{ rows: Map<string, WholeKelpieJob>; event: EventRow }> {
  const { hub, caller, did } = about;
  const now = hub.now();
  const { id: ownerId, email } = caller.person;
  const owner = { id: ownerId, email };
  const rows = new Map<string, WholeKelpieJob>();
  for (const some of inPieces(planned)) {
    const jobs = await tx.job.createManyAndReturn({
      data: some.map(({ id, spec, key, failures, dueAt }) => ({
        // The name of a run that no node claims: it is unique, so these jobs never wait for each other.
        ...rowOf({ id, spec, run: `kelpie-${id}` }, { owner, at: new Date(now) }),
        ...(key === undefined ? {} : { idempotencyKey: key }),
        ...(failures === undefined ? {} : { failures }),
        ...(dueAt === undefined ? {} : { dueAt: new Date(dueAt) }),
      })),
    });
    const kelpies = await tx.kelpieJob.createManyAndReturn({
      data: some.map(({ id, heartbeatSeconds, webhook, storage }) => {
        return { jobId: id, heartbeatSeconds, webhook, storage: JSON.stringify(storage) };
      }),
    });
    const byJob = new Map(kelpies.map((row) => [row.jobId, row]));
    for (const job of jobs) rows.set(job.id, { ...job, kelpie: byJob.get(job.id) ?? null });
  }
  const queues = [...new Set(planned.map(({ spec }) => spec.queue))];
  const into = queues.length === 1 ? `the queue ${queues[0] ?? ""}` : `${formatCount(queues.length)} queues`;
  const what = planned.length === 1 ? "one job of Kelpie" : `${formatCount(planned.length)} jobs of Kelpie`;
  await audit({ db: tx, now: hub.now }, caller, { action: did.action, subject: `${what} to ${into}` });
  const text = `${email} ${did.text} ${what} to ${into}`;
  return { rows, event: await recordEvent(tx, { at: now, kind: "job-submitted", work: "moving", text }) };
}

/** Stores jobs that came by the Kelpie-compatible API, all of them or none, and returns them in the order of the request. */
export async function submitKelpieJobs(
  hub: Hub,
  caller: PersonCaller,
  submissions: readonly KelpieSubmission[],
): Promise<KelpieJobView[]> {
  const planned = submissions.map((one) => ({ id: newId(), ...one }));
  const did = { action: "submit jobs", text: "submitted" };
  const { rows, event } = await hub.db.$transaction((tx) => storeKelpieJobs(tx, planned, { hub, caller, did }), {
    timeout: 60_000,
  });
  emit(hub, event, ["jobs"]);
  return planned.flatMap(({ id }) => {
    const row = rows.get(id);
    return row === undefined ? [] : (viewOf(row) ?? []);
  });
}
