import type { CommandDetail } from "#protocol/wire/commands.ts";
import { isFault } from "#protocol/faults/fault.ts";
import type { Agent } from "../agent-assemble.ts";
import { isUnsafe } from "#worker/upload/backlog.ts";
import { flush, takeAllFinished } from "../local-api/flush.ts";

/**
 * Captures what is finished by now, refuses all later captures and restores, and returns when everything is safe. Waits for
 * held uploads until they are released. Faults: those of captures that failed.
 */
export async function drainNode(agent: Agent): Promise<CommandDetail> {
  const { stand, ledger } = agent;
  // A refusal is in the history already. Throwing it here would keep the node from ever being drained.
  if (!stand.isDrained) {
    await takeAllFinished(agent).catch((error: unknown) => {
      if (!isFault(error)) throw error;
    });
  }
  await stand.setDrained("drained");
  // The worker may have asked for a job meanwhile. It tells the hub that it takes none.
  agent.jobWait.wake();
  const unsafe = ledger.all().filter(isUnsafe).length;
  await flush(agent, {}, agent.signal);
  return { checkpoints: unsafe };
}
