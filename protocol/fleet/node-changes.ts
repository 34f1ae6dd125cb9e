import { addRisks } from "../wire/risk.ts";
import type { NodeChange, NodeRow } from "../wire/views.ts";

/**
 * A node's row in the parts that change by themselves. What would be lost grows with every moment of training, and nothing
 * else does of a run that only trains: it stands apart from the runs, so that they are told when they change.
 */
export type NodeParts = Required<NodeChange>;

export function partsOf({ risk: _sum, ...row }: NodeRow): NodeParts {
  return {
    ...row,
    runs: row.runs.map((run) => ({ ...run, risk: { ...run.risk, lossMs: 0 } })),
    losses: row.runs.map((run) => run.risk.lossMs),
  };
}

/** The row after a change of some of its parts. */
export function changeNode(row: NodeRow, { losses, ...rest }: NodeChange): NodeRow {
  if (losses === undefined && rest.runs === undefined) return { ...row, ...rest };
  const lossesNow = losses ?? row.runs.map((run) => run.risk.lossMs);
  const runs = (rest.runs ?? row.runs).map((run, at) => ({
    ...run,
    risk: { ...run.risk, lossMs: lossesNow[at] ?? 0 },
  }));
  return { ...row, ...rest, runs, risk: addRisks(runs.map((run) => run.risk)) };
}
