import { isExpected, isHeard } from "#protocol/fleet/node-status.ts";
import { addRisks, NO_RISK } from "#protocol/wire/risk.ts";
import type { FleetView, NodeRow } from "#protocol/wire/views.ts";
import { mapInSlices } from "#server/platform/pauses.ts";
import type { LiveNode } from "./live-node.ts";
import { nodeRowOf, type WriterLookup } from "./node-row.ts";

/** The part of the live state that the view needs. */
interface FleetMemory extends WriterLookup {
  readonly nodes: ReadonlyMap<string, LiveNode>;
  readonly totals: Pick<FleetView, "doneLastDay" | "failedLastDay" | "checkpointsComplete">;
}

/**
 * Returns the summary of the fleet, without revoked nodes. If a node is no longer expected to report, its runs that another
 * node has taken over do not count as at risk. Ten thousand nodes are read in slices.
 */
export async function fleetViewOf(live: FleetMemory, now: number): Promise<FleetView> {
  const nodes = [...live.nodes.values()].filter(({ revokedAt }) => revokedAt === null);
  const rows: NodeRow[] = await mapInSlices(nodes, (node) => nodeRowOf(live, node, now));
  const byWork = { safe: 0, moving: 0, risk: 0, lost: 0 };
  let risk = NO_RISK;
  let worst: FleetView["worstNode"] = null;
  let up = 0;
  let down = 0;
  let active = 0;
  for (const row of rows) {
    byWork[row.work]++;
    up += row.upBytesPerSecond;
    down += row.downBytesPerSecond;
    active += row.activeTransfers;
    for (const run of row.runs) if (isExpected(row.state) || run.isWriter) risk = addRisks([risk, run.risk]);
    if (isHeard(row.state) && row.risk.lossMs > (worst?.lossMs ?? 0)) {
      worst = { id: row.id, name: row.name, lossMs: row.risk.lossMs };
    }
  }
  return {
    at: now,
    nodes: rows.length,
    online: rows.filter((row) => isHeard(row.state)).length,
    unconfirmed: rows.filter((row) => row.state === "unconfirmed").length,
    silent: rows.filter((row) => row.state === "silent").length,
    byWork,
    risk,
    worstNode: worst,
    upBytesPerSecond: up,
    downBytesPerSecond: down,
    activeTransfers: active,
    ...live.totals,
  };
}
