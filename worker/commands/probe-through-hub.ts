import { joinHub } from "../hub-link/joined-hub.ts";
import type { CommandContext } from "../command-line/command-context.ts";
import { askTarget, probeNodeLink } from "../probe/node-link.ts";
import type { ProbeResult } from "../probe/probe.ts";
import { readProbeOptions } from "../probe/options.ts";

/**
 * Implements `tidemark probe` on a node that has joined a hub. Records nothing there. Faults: BAD_INPUT, those of the
 * hub and the store.
 */
export async function probeThroughHub(context: CommandContext): Promise<ProbeResult> {
  const { config, signal } = context;
  const otherwise = "name a bucket (tidemark probe s3://bucket), or join one first";
  const { hub } = await joinHub(context, { command: "probe", otherwise, signal });
  const engine = { connections: null, memoryBytes: null, idleMs: config.durationMs("stall-after") };
  return probeNodeLink(hub, await askTarget(hub, null), { ...readProbeOptions(config), engine, signal });
}
