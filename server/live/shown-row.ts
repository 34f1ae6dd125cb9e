import { isDeepStrictEqual } from "node:util";
import type { NodeChange, NodeRow } from "#protocol/views.ts";
import type { Live } from "./live.ts";
import type { LiveNode } from "./live-node.ts";
import { nodeRowOf } from "./node-row.ts";

/**
 * What all who watch see of a node: its row, made once for each of its revisions, and since which revision each part of the
 * row is what it is. A stream tells only what is newer than it has told: of a node that reports, a third of its row.
 */
export interface ShownRow {
  row: NodeRow;
  revision: number;
  since: ReadonlyMap<keyof NodeRow, number>;
}

const keysOf = (row: NodeRow): (keyof NodeRow)[] => Object.keys(row) as (keyof NodeRow)[];

/** As of the node's last revision, not of `now`: streams that began at different times hold the same row. */
export function shownRowOf(live: Live, node: LiveNode, now: number): ShownRow {
  const before = node.shown;
  if (before !== null && before.revision === node.revision) return before;
  const row = nodeRowOf(live, node, now);
  const sinceOf = (key: keyof NodeRow): number =>
    before !== null && isDeepStrictEqual(before.row[key], row[key])
      ? (before.since.get(key) ?? node.revision)
      : node.revision;
  node.shown = { row, revision: node.revision, since: new Map(keysOf(row).map((key) => [key, sinceOf(key)])) };
  return node.shown;
}

function copyPart<Key extends keyof NodeRow>(from: NodeRow, to: Partial<NodeRow>, key: Key): void {
  to[key] = from[key];
}

/** The parts of a row that are newer than revision `seen`, with its id. */
export function changesOf({ row, since }: ShownRow, seen: number): NodeChange {
  const parts: Partial<NodeRow> = {};
  for (const [key, revision] of since) if (revision > seen) copyPart(row, parts, key);
  return { ...parts, id: row.id };
}
