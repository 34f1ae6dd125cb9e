import type { Hub } from "#server/core/api/hub.ts";
import { beginDue, forgetAlerts } from "./deliver.ts";
import { evaluate } from "./evaluate.ts";

const EVALUATE_EVERY_MS = 5_000;
const DELIVER_EVERY_MS = 2_000;
const FORGET_EVERY_MS = 3_600_000;

/**
 * Starts the timers of alerts, apart from the hub's own tick: a slow channel must not delay the notice that a node fell
 * silent. Returns a function that stops them.
 */
export function startAlerting(hub: Hub): { stop: () => Promise<void> } {
  const jobs = [
    every(hub, { everyMs: EVALUATE_EVERY_MS, run: evaluate }),
    every(hub, { everyMs: DELIVER_EVERY_MS, run: beginDelivering }),
    every(hub, { everyMs: FORGET_EVERY_MS, run: forgetAlerts }),
  ];
  const stop = async () => {
    await Promise.all(jobs.map((stopJob) => stopJob()));
    await Promise.allSettled(hub.alerts.sending.values());
  };
  return { stop };
}

/** Does not wait for channels, so that the next round starts while a slow channel is still sending. */
async function beginDelivering(hub: Hub): Promise<void> {
  for (const sending of await beginDue(hub)) {
    sending.catch((error: unknown) => hub.log.error({ error }, "an alert channel failed"));
  }
}

/** Runs a job periodically, never twice at once. */
function every(hub: Hub, job: { everyMs: number; run: (hub: Hub) => Promise<void> }): () => Promise<void> {
  let running: Promise<void> | null = null;
  const timer = setInterval(() => {
    running ??= job
      .run(hub)
      .catch((error: unknown) => hub.log.error({ error }, "a job of the alerts failed"))
      .finally(() => {
        running = null;
      });
  }, job.everyMs);
  return async () => {
    clearInterval(timer);
    await running;
  };
}
