import type { KelpieWebhook } from "#protocol/jobs/kelpie.ts";
import { toFault, type Fault } from "#protocol/faults/fault.ts";
import type { JobWebhook } from "#prisma/client/client.ts";
import type { Transaction } from "#prisma/open.ts";
import type { Hub } from "#server/core/api/hub.ts";
import { postRequest } from "#server/platform/post-request.ts";
import type { WholeKelpieJob } from "./show-kelpie.ts";

/**
 * Calls the webhooks of jobs. The change of a job and the call that it causes are stored together, so a hub that ends before
 * the call makes it after its next start. The calls of one address are made one after the other, in the order of their
 * storage, and no address waits for another. A failed call is repeated with a wait that doubles; a receiver may be called
 * twice.
 */

const FIRST_WAIT_MS = 5_000;
const LONGEST_WAIT_MS = 15 * 60_000;
/** About an hour of tries. */
const MOST_TRIES = 12;
const EVERY_MS = 1_000;
/** Addresses that are called at once. */
const AT_ONCE = 16;
/** Calls of one address in one turn, and the time after which its turn ends: then other addresses are called. */
const MOST_ROWS = 100;
const TURN_MS = 5_000;

/** Stores a call of the job's webhook, if it has one. Set `hub.jobs.mayCall` after the commit. */
export async function noteWebhook(
  tx: Pick<Transaction, "jobWebhook">,
  { id, queue, kelpie }: WholeKelpieJob,
  { status, at }: { status: KelpieWebhook["status"]; at: Date },
): Promise<void> {
  if (kelpie === null || kelpie.webhook === null) return;
  const body: KelpieWebhook = { status, job_id: id, machine_id: kelpie.machine ?? "", container_group_id: queue };
  // A call waits at least as long as the earlier ones of its job, so that a receiver is told of changes in their order.
  const { _max: last } = await tx.jobWebhook.aggregate({ where: { jobId: id }, _max: { nextAt: true } });
  const nextAt = new Date(Math.max(at.getTime(), last.nextAt?.getTime() ?? 0));
  await tx.jobWebhook.create({ data: { jobId: id, url: kelpie.webhook, body: JSON.stringify(body), nextAt } });
}

const headers = {
  "content-type": "application/json",
  // Kelpie sends the worker's own token here. That is a secret of this hub, so the header stays empty.
  "x-kelpie-key": "",
};

const dueAt = (url: string, now: number) => ({ url, nextAt: { lte: new Date(now) } });

/** Makes the due calls of one address in order, up to the first that fails: then all of them wait. */
async function callAddress(hub: Hub, url: string): Promise<void> {
  const endAt = hub.now() + TURN_MS;
  const where = dueAt(url, hub.now());
  for (const row of await hub.db.jobWebhook.findMany({ where, orderBy: { id: "asc" }, take: MOST_ROWS })) {
    const now = hub.now();
    // The rest stands behind the addresses that became due meanwhile.
    if (now >= endAt) {
      await hub.db.jobWebhook.updateMany({ where: dueAt(url, now), data: { nextAt: new Date(now) } });
      return;
    }
    const { id, tries } = row;
    try {
      if (!hub.jobs.called.has(id)) await callOnce(hub, row);
    } catch (error) {
      const fault = toFault(error, { op: "webhook" });
      if (fault.code === "CANCELLED") return;
      return postpone(hub, url, { tries, fault });
    }
    // A row that cannot be deleted now is not sent again.
    hub.jobs.called.add(id);
    await hub.db.jobWebhook.deleteMany({ where: { id } });
    hub.jobs.called.delete(id);
  }
}

/** Makes one call. @throws Fault when it has to be made again, CANCELLED */
async function callOnce(hub: Hub, { jobId, url, body }: JobWebhook): Promise<void> {
  try {
    await postRequest({ url, headers, body }, { reach: hub.reach, signal: hub.closing });
  } catch (error) {
    const fault = toFault(error, { op: "webhook" });
    if (fault.code === "CANCELLED" || fault.retry !== "never") throw fault;
    hub.log.warn({ jobId, fault: fault.toData() }, "the webhook of a job was refused");
  }
}

/** Lets the due calls of an address wait, and gives up those that were tried too often. */
async function postpone(hub: Hub, url: string, { tries, fault }: { tries: number; fault: Fault }): Promise<void> {
  const backoffMs = Math.min(LONGEST_WAIT_MS, FIRST_WAIT_MS * 2 ** tries);
  const waitMs = Math.max(backoffMs, Math.min(LONGEST_WAIT_MS, fault.context.retryAfterMs ?? 0));
  const now = hub.now();
  await hub.db.jobWebhook.updateMany({
    where: dueAt(url, now),
    data: { tries: { increment: 1 }, nextAt: new Date(now + waitMs) },
  });
  const { count } = await hub.db.jobWebhook.deleteMany({ where: { url, tries: { gte: MOST_TRIES } } });
  if (count > 0) hub.log.warn({ calls: count, fault: fault.toData() }, "webhooks of jobs were given up");
}

/** Starts the calls that are due, of the addresses that wait longest. */
async function startDue(hub: Hub): Promise<void> {
  const { calling } = hub.jobs;
  if (!hub.jobs.mayCall || calling.size >= AT_ONCE) return;
  hub.jobs.mayCall = false;
  try {
    const addresses = await hub.db.jobWebhook.groupBy({
      by: ["url"],
      where: { nextAt: { lte: new Date(hub.now()) }, url: { notIn: [...calling.keys()] } },
      orderBy: { _min: { nextAt: "asc" } },
      take: AT_ONCE - calling.size,
    });
    for (const { url } of addresses) calling.set(url, takeTurn(hub, url));
    // Some wait for a later try or for their turn. One that came meanwhile has set it already.
    if ((await hub.db.jobWebhook.count({ take: 1 })) > 0) hub.jobs.mayCall = true;
  } catch (error) {
    hub.jobs.mayCall = true;
    throw error;
  }
}

/** Gives one address its turn. Never rejects, because no other address may wait for an error of this one. */
async function takeTurn(hub: Hub, url: string): Promise<void> {
  try {
    await callAddress(hub, url);
  } catch (error) {
    hub.jobs.mayCall = true;
    hub.log.error({ error }, "the webhooks of jobs could not be called");
  } finally {
    hub.jobs.calling.delete(url);
  }
}

/** Calls the webhooks that are due, and resolves when those in flight are over. Several may run at once: no address is called twice. */
export async function callWebhooks(hub: Hub): Promise<void> {
  await hub.locks.run("webhooks of jobs", () => startDue(hub));
  await Promise.all(hub.jobs.calling.values());
}

/** Starts the timer of webhooks, apart from the hub's own tick. Returns how to stop it. */
export function startCallingWebhooks(hub: Hub): { stop: () => Promise<void> } {
  const rounds = new Set<Promise<void>>();
  // Each tick starts a round although others may not be over: an address that is slow is called in one round alone.
  const timer = setInterval(() => {
    const round = callWebhooks(hub)
      .catch((error: unknown) => hub.log.error({ error }, "the webhooks of jobs could not be called"))
      .finally(() => rounds.delete(round));
    rounds.add(round);
  }, EVERY_MS);
  return {
    stop: async () => {
      clearInterval(timer);
      await Promise.all(rounds);
    },
  };
}
