import type { KelpieWebhook } from "#protocol/jobs/kelpie.ts";
import { toFault, type Fault } from "#protocol/faults/fault.ts";
import type { JobWebhook } from "#prisma/client/client.ts";
import type { Transaction } from "#prisma/open.ts";
import type { Hub } from "#server/core/api/hub.ts";
import { postRequest } from "#server/platform/post-request.ts";
import type { WholeKelpieJob } from "./show-kelpie.ts";

/**
 * Calls the webhooks of jobs. The change of a job and the call that it causes are stored together, so a hub that ends before
 * the call makes it after its next start. A failed call is repeated with a wait that doubles; a receiver may be called twice.
 */

const FIRST_WAIT_MS = 5_000;
const LONGEST_WAIT_MS = 15 * 60_000;
/** About an hour of tries. */
const MOST_TRIES = 12;
const EVERY_MS = 1_000;
/** Calls that are read in one round, and addresses that are called at once. */
const MOST_ROWS = 200;
const AT_ONCE = 8;

/** Stores a call of the job's webhook, if it has one. Set `hub.jobs.mayCall` after the commit. */
export async function noteWebhook(
  tx: Pick<Transaction, "jobWebhook">,
  { id, queue, kelpie }: WholeKelpieJob,
  { status, at }: { status: KelpieWebhook["status"]; at: Date },
): Promise<void> {
  if (kelpie === null || kelpie.webhook === null) return;
  const body: KelpieWebhook = { status, job_id: id, machine_id: kelpie.machine ?? "", container_group_id: queue };
  const data = { jobId: id, url: kelpie.webhook, body: JSON.stringify(body), nextAt: at };
  await tx.jobWebhook.create({ data });
}

const headers = {
  "content-type": "application/json",
  // Kelpie sends the worker's own token here. That is a secret of this hub, so the header stays empty.
  "x-kelpie-key": "",
};

/** Makes the calls of one address in order, up to the first that fails: then all of them wait. */
async function callAddress(hub: Hub, url: string, rows: readonly JobWebhook[]): Promise<void> {
  for (const { id, jobId, body, tries } of rows) {
    try {
      await postRequest({ url, headers, body }, { reach: hub.reach, signal: hub.closing });
    } catch (error) {
      const fault = toFault(error, { op: "webhook" });
      if (fault.code === "CANCELLED") return;
      if (fault.retry !== "never") return postpone(hub, url, { tries, fault });
      hub.log.warn({ jobId, fault: fault.toData() }, "the webhook of a job was refused");
    }
    await hub.db.jobWebhook.deleteMany({ where: { id } });
  }
}

/** Lets the due calls of an address wait, and gives up those that were tried too often. */
async function postpone(hub: Hub, url: string, { tries, fault }: { tries: number; fault: Fault }): Promise<void> {
  const backoffMs = Math.min(LONGEST_WAIT_MS, FIRST_WAIT_MS * 2 ** tries);
  const waitMs = Math.max(backoffMs, Math.min(LONGEST_WAIT_MS, fault.context.retryAfterMs ?? 0));
  const due = { url, nextAt: { lte: new Date(hub.now()) } };
  await hub.db.jobWebhook.updateMany({
    where: due,
    data: { tries: { increment: 1 }, nextAt: new Date(hub.now() + waitMs) },
  });
  const { count } = await hub.db.jobWebhook.deleteMany({ where: { url, tries: { gte: MOST_TRIES } } });
  if (count > 0) hub.log.warn({ calls: count, fault: fault.toData() }, "webhooks of jobs were given up");
}

/** Calls the webhooks that are due; two calls at once follow each other. A slow receiver delays the next round only. */
export const callWebhooks = (hub: Hub): Promise<void> => hub.locks.run("webhooks of jobs", () => callDue(hub));

async function callDue(hub: Hub): Promise<void> {
  if (!hub.jobs.mayCall) return;
  hub.jobs.mayCall = false;
  try {
    const due = { nextAt: { lte: new Date(hub.now()) } };
    const rows = await hub.db.jobWebhook.findMany({ where: due, orderBy: { id: "asc" }, take: MOST_ROWS });
    const byAddress = [...Map.groupBy(rows, ({ url }) => url)].slice(0, AT_ONCE);
    await Promise.all(byAddress.map(([url, some]) => callAddress(hub, url, some)));
  } finally {
    // Those that wait for a later try. One that came meanwhile has set it already.
    if ((await hub.db.jobWebhook.count({ take: 1 })) > 0) hub.jobs.mayCall = true;
  }
}

/** Starts the timer of webhooks, apart from the hub's own tick. Returns how to stop it. */
export function startCallingWebhooks(hub: Hub): { stop: () => Promise<void> } {
  let running: Promise<void> | null = null;
  const timer = setInterval(() => {
    running ??= callWebhooks(hub)
      .catch((error: unknown) => hub.log.error({ error }, "the webhooks of jobs could not be called"))
      .finally(() => {
        running = null;
      });
  }, EVERY_MS);
  return {
    stop: async () => {
      clearInterval(timer);
      await running;
    },
  };
}
