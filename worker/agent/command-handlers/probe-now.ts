import type { CommandDetail } from "#protocol/wire/commands.ts";
import type { Agent } from "../agent-assemble.ts";
import { askedOf } from "#worker/probe/thresholds-of.ts";
import { askTarget, probeNodeLink } from "#worker/probe/node-link.ts";
import { reportOf } from "#worker/probe/probe.ts";

/**
 * Measures the link as at a start. Reports the result under the command's own id, so that the hub records a repetition once.
 * `shared` says whether other transfers used the link meanwhile. Faults: NO_SUCH_BUCKET, those of the hub.
 */
export async function probeNow(agent: Agent, commandId: string): Promise<CommandDetail> {
  const { hub, options, platform, probeOptions, signal, uploader, restorer } = agent;
  const { connections, memoryBytes, idleMs } = options;
  const isBusy = () => uploader.active !== null || restorer.progress().some(({ state }) => state === "running");
  const wasBusy = isBusy();
  const target = await askTarget(hub, platform.machineId);
  const engine = { connections, memoryBytes, idleMs };
  const thresholds = askedOf(probeOptions.thresholds, target.thresholds);
  const found = await probeNodeLink(hub, target, { ...probeOptions, thresholds, engine, signal });
  const report = { ...reportOf(found, { machineId: platform.machineId, thresholds }), id: commandId };
  await hub.ask("probed", (client, limit) => client.node.probed.mutate(report, { signal: limit }));
  const { outcome, reason, rttMs, up, down } = report;
  return { outcome, reason: reason.slice(0, 512), rttMs, up, down, shared: wasBusy || isBusy() };
}
