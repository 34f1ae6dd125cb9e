import type { LineageEpoch } from "#protocol/checkpoint/lineage.ts";

/** Lays out the epochs of a run as a graph: one lane per node, one row per epoch, newest first. */

export const ROW = 46;
export const LANE = 16;
/** Most lanes; further nodes share the last one. */
export const MOST_LANES = 8;

export interface GraphRow {
  epoch: LineageEpoch;
  lane: number;
  /** Row of the epoch that it continued from; null when it started fresh or that epoch is not shown. */
  parentRow: number | null;
}

export interface Graph {
  rows: GraphRow[];
  lanes: number;
}

/** Lays out the graph. Lanes are assigned in the order in which nodes first wrote, so the first writer is at the left. */
export function lineageGraph(epochs: readonly LineageEpoch[]): Graph {
  const lanes = new Map<string, number>();
  for (const { nodeId } of epochs.toReversed()) {
    const name = nodeId ?? "";
    if (!lanes.has(name)) lanes.set(name, Math.min(lanes.size, MOST_LANES - 1));
  }
  const rowOf = new Map(epochs.map(({ epoch }, row) => [epoch, row]));
  return {
    rows: epochs.map((epoch) => ({
      epoch,
      lane: lanes.get(epoch.nodeId ?? "") ?? 0,
      parentRow: epoch.parent === null ? null : (rowOf.get(epoch.parent.epoch) ?? null),
    })),
    lanes: Math.max(1, Math.min(lanes.size, MOST_LANES)),
  };
}

export const dotAt = ({ lane }: Pick<GraphRow, "lane">, row: number): { x: number; y: number } => ({
  x: 16 + lane * LANE,
  y: row * ROW + ROW / 2,
});

/** Returns the SVG path from an epoch to the one that it continued from. */
export function edgePath(from: { x: number; y: number }, to: { x: number; y: number }): string {
  if (from.x === to.x) return `M${from.x} ${from.y}V${to.y}`;
  const bend = Math.min(ROW, to.y - from.y) * 0.9;
  return `M${from.x} ${from.y}C${from.x} ${from.y + bend} ${to.x} ${from.y} ${to.x} ${from.y + bend}V${to.y}`;
}
