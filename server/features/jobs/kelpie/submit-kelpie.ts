import type { KelpieJobView, KelpieSubmission } from "#protocol/jobs/kelpie.ts";
import { formatCount } from "#protocol/base/units.ts";
import { audit } from "#server/core/api/audit.ts";
import type { PersonCaller } from "#server/core/api/caller.ts";
import type { Hub } from "#server/core/api/hub.ts";
import { emit, recordEvent } from "#server/core/events/record-event.ts";
import { newId } from "#server/platform/random-id.ts";
import { inPieces, rowOf } from "../job-columns.ts";
import { viewOf, type WholeKelpieJob } from "./show-kelpie.ts";

/** Stores jobs that came by the Kelpie-compatible API, all of them or none, and returns them in the order of the request. */
export async function submitKelpieJobs(
  hub: Hub,
  caller: PersonCaller,
  submissions: readonly KelpieSubmission[],
): Promise<KelpieJobView[]> {
  const now = hub.now();
  const owner = { id: caller.person.id, email: caller.person.email };
  // The name of a run that no node claims: it is unique, so these jobs never wait for each other.
  const planned = submissions
    .map((one) => ({ id: newId(), ...one }))
    .map((one) => ({ ...one, run: `kelpie-${one.id}` }));
  const { rows, event } = await hub.db.$transaction(
    async (tx) => {
      const rows = new Map<string, WholeKelpieJob>();
      for (const some of inPieces(planned)) {
        const jobs = await tx.job.createManyAndReturn({
          data: some.map((one) => rowOf(one, { owner, at: new Date(now) })),
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
      await audit({ db: tx, now: hub.now }, caller, { action: "submit jobs", subject: `${what} to ${into}` });
      const text = `${owner.email} submitted ${what} to ${into}`;
      return { rows, event: await recordEvent(tx, { at: now, kind: "job-submitted", work: "moving", text }) };
    },
    { timeout: 60_000 },
  );
  emit(hub, event, ["jobs"]);
  return planned.flatMap(({ id }) => {
    const row = rows.get(id);
    return row === undefined ? [] : (viewOf(row) ?? []);
  });
}
