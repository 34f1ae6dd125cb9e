import type { CommandDetail } from "#protocol/wire/commands.ts";
import { isFault } from "#protocol/faults/fault.ts";
import type { Agent } from "../agent-assemble.ts";
import { isUnsafe } from "#worker/upload/backlog.ts";
import { flush, takeAllFinished } from "../local-api/flush.ts";

/**
 * Takes what is finished by now, closes the door, and ends when all of it is safe. What is held is waited for until it is
 * released. Faults: those of captures that failed.
 */
export async function drainNode(agent: Agent): Promise<CommandDetail> {
  const { stand, ledger } = agent;
  // What is refused is in the history already, and would keep the node from ever being drained.
  if (!stand.isDrained) {
    await takeAllFinished(agent).catch((error: unknown) => {
      if (!isFault(error)) throw error;
    });
  }
  await stand.setDrained("drained");
  const unsafe = ledger.all().filter(isUnsafe).length;
  await flush(agent, {}, agent.signal);
  return { checkpoints: unsafe };
}
