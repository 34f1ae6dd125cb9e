import type * as z from "zod";
import { Fault } from "#protocol/faults/fault.ts";
import { planSubmission, type importKelpieInput, type KelpieImport } from "#protocol/jobs/kelpie.ts";
import type { PersonCaller } from "#server/core/api/caller.ts";
import type { Transaction } from "#prisma/open.ts";
import type { Context } from "#server/core/api/trpc.ts";
import { emit } from "#server/core/events/record-event.ts";
import { newId } from "#server/platform/random-id.ts";
import { inPieces } from "../job-columns.ts";
import { findRefusedWebhook } from "./check-webhooks.ts";
import { storeKelpieJobs, type PlannedKelpie } from "./submit-kelpie.ts";

/** Idempotency key of a job that came from another Kelpie. */
const keyOf = (kelpieId: string): string => `kelpie:${kelpieId}`;

/** Returns the ids of jobs that anybody imported before, by their keys. */
async function findImported(tx: Pick<Transaction, "job">, keys: readonly string[]): Promise<Map<string, string>> {
  const known = new Map<string, string>();
  for (const some of inPieces(keys)) {
    const where = { idempotencyKey: { in: some }, kelpie: { isNot: null } };
    const rows = await tx.job.findMany({ where, select: { id: true, idempotencyKey: true } });
    for (const { id, idempotencyKey } of rows) known.set(idempotencyKey ?? "", id);
  }
  return known;
}

/**
 * Stores jobs of another Kelpie, all of them or none, and returns one answer for each, in their order. A job that was imported
 * before stays as it is. @throws Fault BAD_INPUT for a webhook that the hub would never call
 */
export async function importKelpieJobs(
  { hub, caller }: Context & { caller: PersonCaller },
  { jobs, dryRun }: z.infer<typeof importKelpieInput>,
): Promise<{ jobs: KelpieImport[] }> {
  const submissions = jobs.map(({ submission }) => planSubmission(submission));
  const refused = await findRefusedWebhook(hub, submissions);
  if (refused !== null) {
    const subject = `the job ${jobs[refused.index]?.id ?? ""} of Kelpie`;
    throw new Fault("BAD_INPUT", { op: "import", subject, detail: refused.message });
  }
  const now = hub.now();
  const { known, event } = await hub.db.$transaction(
    async (tx) => {
      const before = await findImported(tx, [...new Set(jobs.map(({ id }) => keyOf(id)))]);
      const known = new Map([...before].map(([key, id]) => [key, { id, isNew: false }]));
      const planned: PlannedKelpie[] = [];
      for (const [index, { id: kelpieId, failures, waitSeconds }] of jobs.entries()) {
        const key = keyOf(kelpieId);
        const submission = submissions[index];
        if (dryRun || submission === undefined || known.has(key)) continue;
        const id = newId();
        planned.push({ id, key, failures, dueAt: now + waitSeconds * 1_000, ...submission });
        known.set(key, { id, isNew: true });
      }
      if (planned.length === 0) return { known, event: null };
      const did = { action: "import jobs", text: "imported" };
      return { known, event: (await storeKelpieJobs(tx, planned, { hub, caller, did })).event };
    },
    { timeout: 60_000 },
  );
  if (event !== null) emit(hub, event, ["jobs"]);
  return {
    jobs: jobs.map(({ id: kelpieId }) => {
      const found = known.get(keyOf(kelpieId));
      return { kelpieId, id: found?.id ?? null, isNew: found?.isNew ?? true };
    }),
  };
}
