import { Fault, isFault } from "#protocol/faults/fault.ts";
import type { Agent } from "../agent-assemble.ts";
import { isUnsafe } from "#worker/upload/backlog.ts";
import { flush } from "../local-api/flush.ts";
import type { Effect } from "#worker/hub-link/take-command.ts";

/**
 * Gives the machine back, when the platform exchanges machines and the hub's reallocation budget allows it. Makes finished work
 * safe within the grace time, asks the platform, and ends the worker. The command's id is the request id, so that a repetition
 * costs the budget nothing. Faults: PLATFORM_FAILED, CONFLICT with the hub's reason, those of the hub.
 */
export async function reallocate(
  agent: Agent,
  command: { id: string; reason: string; graceMs: number },
): Promise<Effect> {
  const { hub, platform, signal, ledger } = agent;
  const { imds, machineId } = platform;
  if (machineId === null && (await imds.status()) === null) {
    throw new Fault("PLATFORM_FAILED", { op: "reallocate", detail: "no platform here exchanges machines" });
  }
  const question = { requestId: command.id, machineId, probeId: null };
  const answer = await hub.ask("mayReallocate", (client, limit) =>
    client.node.mayReallocate.mutate(question, { signal: limit }),
  );
  if (!answer.allowed) throw new Fault("CONFLICT", { op: "reallocate", detail: answer.reason });
  if (command.graceMs > 0) {
    await flush(agent, { timeoutMs: command.graceMs }, signal).catch((error: unknown) => {
      // The machine is given back anyway; the answer says what is not safe.
      if (!isFault(error) || signal.aborted) throw error;
    });
  }
  const unsafe = ledger.all().filter(isUnsafe).length;
  await imds.reallocate(`tidemark: ${command.reason}`);
  return { detail: { reason: answer.reason, unsafe }, afterwards: () => agent.stopWithin(0) };
}
