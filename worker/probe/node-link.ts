import { randomUUID } from "node:crypto";
import { Fault } from "#protocol/faults/fault.ts";
import { probeKey } from "#protocol/checkpoint/keys.ts";
import type { ProbeTarget } from "#protocol/links/probe.ts";
import { systemClock } from "../base/clock.ts";
import { createEngine } from "../transfer/engine.ts";
import { createRetrier } from "../transfer/store-session/retry.ts";
import { createHubSource } from "../hub-link/hub-source.ts";
import type { Hub } from "../hub-link/hub.ts";
import { probeLink, type ProbeResult } from "./probe.ts";
import type { ProbeOptions } from "./options.ts";

/** Options of the engines that measure. */
export interface ProbeEngine {
  connections: number | null;
  memoryBytes: number | null;
  idleMs: number;
}

/** Asks the hub where to measure. @throws Fault NOT_FOUND (an older hub), NODE_UNKNOWN, NODE_REVOKED, HUB_UNREACHABLE */
export const askTarget = (hub: Hub, machineId: string | null): Promise<ProbeTarget> =>
  hub.ask("probeTarget", (client, signal) => client.node.probeTarget.query({ machineId }, { signal }));

/** Measures the link of an enrolled node with requests that its hub signs. @throws Fault NO_SUCH_BUCKET, CANCELLED */
export async function probeNodeLink(
  hub: Hub,
  target: ProbeTarget,
  options: ProbeOptions & { engine: ProbeEngine; signal: AbortSignal },
): Promise<ProbeResult> {
  const { store, nodeId } = target;
  if (store === null) throw new Fault("NO_SUCH_BUCKET", { op: "probe", detail: "the hub has none for this node" });
  const { connections, memoryBytes, idleMs } = options.engine;
  const aheadMs = target.hubTimeMs - Date.now();
  const make = (direction: "up" | "down") =>
    createEngine({
      source: createHubSource(hub),
      traits: store.traits,
      trust: store.trust,
      direction,
      connections,
      ...(memoryBytes === null ? {} : { memoryBytes: Math.floor(memoryBytes / 2) }),
      // Bandwidth limits are ignored, because the capacity of the link is measured.
      limitBytesPerSecond: 0,
      signerNow: () => Date.now() + aheadMs,
      retrier: createRetrier(systemClock),
      idleMs,
    });
  const engines = { up: make("up"), down: make("down") };
  try {
    return await probeLink({
      ...options,
      engines,
      newKey: () => probeKey(store.prefix, { nodeId, probeId: randomUUID() }),
      endpoint: store.endpoint,
      clock: systemClock,
    });
  } finally {
    await Promise.all([engines.up.close(), engines.down.close()]);
  }
}
