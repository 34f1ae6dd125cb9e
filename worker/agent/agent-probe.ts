import type { NodeFacts } from "#protocol/wire/hello.ts";
import type { Agent } from "./agent-assemble.ts";
import type { AgentOptions } from "./agent-options.ts";
import type { Config, PlatformFacts } from "../command-line/config.ts";
import type { Terminal } from "../command-line/terminal.ts";
import { systemClock } from "../base/clock.ts";
import { keepDeletionCost, unsafeOfMachine } from "../host/deletion-cost.ts";
import { createImds } from "../host/imds.ts";
import type { Hub } from "../hub-link/hub.ts";
import { probeAtStart } from "../probe/at-start.ts";
import { probeNodeLink } from "../probe/node-link.ts";
import { createProbeTalk } from "../probe/talk.ts";
import { readProbeOptions } from "../probe/options.ts";
import { readBacklog } from "../upload/backlog.ts";

/** Measures the link at the start of a worker, and reports the deletion cost of its container. */

/** Parts of `AgentCommand` that the probe needs. */
interface ProbedStart {
  config: Config;
  terminal: Terminal;
  signal: AbortSignal;
  stopping: AbortSignal;
  goodbyeMs: number;
  platform: PlatformFacts;
}

/**
 * Measures the link when the options ask for it. Returns the upload rate, bytes per second; null when nothing was measured. On
 * a fault the node says goodbye to the hub before it leaves. Faults: those of `probeAtStart`.
 */
export async function probeFirst(
  command: ProbedStart,
  about: { hub: Hub; options: AgentOptions; facts: NodeFacts },
): Promise<number | null> {
  const { hub, facts, options } = about;
  const { connections, memoryBytes, idleMs } = options;
  const asked = readProbeOptions(command.config);
  const signal = AbortSignal.any([command.signal, command.stopping]);
  let upBytesPerSecond: number | null = null;
  try {
    await probeAtStart({
      thresholds: asked.thresholds,
      hub,
      imds: createImds(command.platform.imdsUrl),
      machineId: facts.machineId,
      clock: systemClock,
      signal,
      talk: createProbeTalk(command.terminal),
      measure: async (target, thresholds) => {
        const engine = { connections, memoryBytes, idleMs };
        const result = await probeNodeLink(hub, target, { ...asked, thresholds, engine, signal });
        if ("rate" in result.up) upBytesPerSecond = result.up.rate.bytesPerSecond;
        return result;
      },
    });
    return upBytesPerSecond;
  } catch (error) {
    const goodbye = hub.ask("goodbye", (client, limit) => client.node.goodbye.mutate(undefined, { signal: limit }));
    await Promise.race([goodbye.catch(() => undefined), systemClock.sleep(command.goodbyeMs)]);
    throw error;
  }
}

/** Tells the platform how many unsafe bytes this machine holds, until the signal fires. Does nothing without a machine id. */
export async function tellCost(agent: Agent, { machineId, imdsUrl }: PlatformFacts): Promise<void> {
  if (machineId === null) return;
  const { machine, state } = agent;
  await keepDeletionCost({
    imds: createImds(imdsUrl),
    unsafeBytes: async () => {
      const bytes = (await readBacklog(agent)).reduce((sum, { unsafeBytes }) => sum + unsafeBytes, 0);
      return machine === null ? bytes : unsafeOfMachine(machine.folders, { state, bytes });
    },
    clock: systemClock,
    signal: agent.signal,
    onFault: agent.reporter.waitingFor,
  });
}
