import type { ProbeReport } from "#protocol/links/probe.ts";
import { formatRate } from "#protocol/base/units.ts";
import { countUp } from "#server/platform/counters.ts";
import { emit, recordEvent } from "#server/core/events/record-event.ts";
import { recordProbeLink } from "#server/core/history/record-link.ts";
import { liveNodeOf } from "#server/core/nodes/live-node-of.ts";
import { machineOf } from "./machine-memory.ts";
import type { Context } from "#server/core/api/trpc.ts";
import type { NodeCaller } from "#server/core/api/caller.ts";

/** Time that probes are kept: no decision on reallocation looks further back. */
const KEEP_MS = 30 * 86_400_000;

/** Describes a measured link for the event. */
function wordsOf({ outcome, reason, up, down }: ProbeReport): string {
  const rates = [up === null ? null : `${formatRate(up)} up`, down === null ? null : `${formatRate(down)} down`];
  const measured = rates.filter((text) => text !== null).join(", ");
  if (outcome === "reject") return `was rejected: ${reason}`;
  const found = measured === "" ? "could not measure its link" : `measured its link: ${measured}`;
  return outcome === "accept" ? found : `${found} (${reason})`;
}

/** Records a measurement of a node's link; a repeated report changes nothing. @throws Fault NODE_UNKNOWN, NODE_REVOKED */
export async function recordProbe(
  { hub, caller }: Context & { caller: NodeCaller },
  probe: ProbeReport,
): Promise<{ ok: true }> {
  const node = liveNodeOf(hub, caller.nodeId);
  const { id, machineId, outcome, reason, rttMs, clockSkewMs, up, down, thresholds, attempts, tookMs, manner } = probe;
  const now = hub.now();
  const event = await hub.db.$transaction(async (tx) => {
    if ((await tx.probe.findUnique({ where: { id } })) !== null) return null;
    await tx.probe.deleteMany({ where: { at: { lt: new Date(now - KEEP_MS) } } });
    const found = { outcome, reason, rttMs, clockSkewMs, up, down, attempts, tookMs };
    const asked = { leastUp: thresholds.up, leastDown: thresholds.down, mostRttMs: thresholds.rttMs };
    const steady = { isUpSteady: manner?.up?.isSteady ?? null, isDownSteady: manner?.down?.isSteady ?? null };
    const { profileId, id: nodeId } = node;
    const machine = machineOf(nodeId, machineId);
    await tx.probe.create({
      data: { id, nodeId, machine, profileId, at: new Date(now), ...found, ...asked, ...steady },
    });
    await recordProbeLink({ tx, hub, node }, probe);
    const fault = outcome === "reject" ? { code: "LINK_TOO_SLOW" as const } : null;
    const work = outcome === "accept" ? ("safe" as const) : ("risk" as const);
    return recordEvent(tx, { at: now, kind: "link-probed", work, node, text: wordsOf(probe), fault });
  });
  if (event !== null) {
    countUp(hub.counters.probes, outcome);
    emit(hub, event);
  }
  return { ok: true };
}
