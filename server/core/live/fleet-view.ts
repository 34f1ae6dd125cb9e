import { isExpected, isHeard } from "#protocol/fleet/node-status.ts";
import { addRisks, NO_RISK } from "#protocol/wire/risk.ts";
import type { FleetView, NodeRow } from "#protocol/wire/views.ts";
import { mapInSlices } from "#server/platform/pauses.ts";
import type { LiveNode } from "./live-node.ts";
import { nodeRowOf, type WriterLookup } from "./node-row.ts";

/** What of the memory of the fleet the view is made from. */
interface FleetMemory extends WriterLookup {
  readonly nodes: ReadonlyMap<string, LiveNode>;
  readonly totals: Pick<FleetView, "doneLastDay" | "failedLastDay" | "checkpointsComplete">;
}

/**
 * The fleet in one look. Revoked nodes do not count. Of a node that the hub does not count on any more, a run that another node has taken over
 * since is history, not risk. Ten thousand nodes are read in slices.
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
