import type { Hub } from "../api/hub.ts";
import { pruneHistory } from "./prune-history.ts";
import { rollUp } from "./roll-up.ts";

/**
 * Rolls minutes up and prunes old rows on a timer of its own. Both may take long after the hub was down, and the detection of
 * silent nodes must not wait for them.
 */

const LOOK_EVERY_MS = 30_000;
const PRUNE_EVERY_MS = 3_600_000;

/** Starts the timer. `stop` resolves when the batch under way has ended. */
export function startKeepingHistory(hub: Hub): { stop: () => Promise<void> } {
  let running: Promise<void> | null = null;
  let pruneAt = hub.now() + PRUNE_EVERY_MS;
  const work = async (): Promise<void> => {
    await rollUp(hub);
    if (hub.now() < pruneAt) return;
    pruneAt = hub.now() + PRUNE_EVERY_MS;
    const removed = await pruneHistory(hub);
    if (removed > 0) hub.log.info({ removed }, "rows of history that were too old are gone");
  };
  const timer = setInterval(() => {
    running ??= work()
      .catch((error: unknown) => {
        if (!hub.closing.aborted) hub.log.error({ error }, "history could not be kept");
      })
      .finally(() => {
        running = null;
      });
  }, LOOK_EVERY_MS);
  return {
    stop: async () => {
      clearInterval(timer);
      await running;
    },
  };
}
