import { toFault } from "#protocol/faults/fault.ts";
import { systemClock } from "../base/clock.ts";
import { restoreKept, type KeptParts } from "./restore-kept.ts";
import { restoreNamed, type Restored } from "./restore-named.ts";

/** What comes back on a machine that has not got it: the newest checkpoint, those that its state names too, or all that are kept. */
export const RESTORE_WISHES = ["newest", "named", "kept"] as const;
export type RestoreWish = (typeof RESTORE_WISHES)[number];

/** The program waits so long for the others; larger ones arrive while it trains. */
const WAIT_MS = 10_000;

/**
 * Restores other checkpoints than the newest, each to its own place. Resolves when they are there, and after 10 s in any case:
 * then they arrive behind the program. What is missing is said.
 */
export async function restoreOthers(agent: KeptParts, restored: Restored, wish: RestoreWish): Promise<void> {
  if (wish === "newest") return;
  const work = async () => {
    await restoreNamed(agent, restored);
    if (wish === "kept") await restoreKept(agent, restored);
  };
  const all = work().catch((error: unknown) =>
    agent.narrator.waitingFor(toFault(error, { op: "restore", subject: restored.run })),
  );
  await Promise.race([all, systemClock.sleep(WAIT_MS, agent.signal)]);
}
