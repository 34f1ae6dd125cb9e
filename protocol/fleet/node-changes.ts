import { addRisks } from "../wire/risk.ts";
import type { NodeChange, NodeRow } from "../wire/views.ts";

/**
 * A node's row split into parts that change independently. The training time at risk (`losses`) grows every moment, while
 * nothing else changes in a run that only trains. It is therefore kept apart from `runs`, which are sent only when they
 * change.
 */
export type NodeParts = Required<NodeChange>;

export function partsOf({ risk: _sum, ...row }: NodeRow): NodeParts {
  return {
    ...row,
    runs: row.runs.map((run) => ({ ...run, risk: { ...run.risk, lossMs: 0 } })),
    losses: row.runs.map((run) => run.risk.lossMs),
  };
}

/** Returns the row with some of its parts replaced. */
export function changeNode(row: NodeRow, { losses, ...rest }: NodeChange): NodeRow {
  if (losses === undefined && rest.runs === undefined) return { ...row, ...rest };
  const lossesNow = losses ?? row.runs.map((run) => run.risk.lossMs);
  const runs = (rest.runs ?? row.runs).map((run, at) => ({
    ...run,
    risk: { ...run.risk, lossMs: lossesNow[at] ?? 0 },
  }));
  return { ...row, ...rest, runs, risk: addRisks(runs.map((run) => run.risk)) };
}
