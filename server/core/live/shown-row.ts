import { isDeepStrictEqual } from "node:util";
import { partsOf, type NodeParts } from "#protocol/fleet/node-changes.ts";
import type { NodeChange } from "#protocol/wire/views.ts";
import type { LiveNode } from "./live-node.ts";
import { nodeRowOf, type WriterLookup } from "./node-row.ts";
import type { ShownRow } from "./live-node.ts";

/** Returns the row as of the node's last revision rather than of `now`, so that all streams hold the same row. */
export function shownRowOf(writers: WriterLookup, node: LiveNode, now: number): ShownRow {
  const { shown: before, revision } = node;
  if (before !== null && before.revision === revision) return before;
  const row = nodeRowOf(writers, node, now);
  const parts = partsOf(row);
  const sinceOf = (key: keyof NodeParts): number =>
    before !== null && isDeepStrictEqual(before.parts[key], parts[key])
      ? (before.since.get(key) ?? revision)
      : revision;
  const keys = Object.keys(parts) as (keyof NodeParts)[];
  node.shown = { row, parts, revision, since: new Map(keys.map((key) => [key, sinceOf(key)])) };
  return node.shown;
}

/** Returns the parts of a row that are newer than revision `seen`, with its id. */
export function changesOf({ parts, since }: ShownRow, seen: number): NodeChange {
  const change: NodeChange = { id: parts.id };
  for (const [key, revision] of since) if (revision > seen) Object.assign(change, { [key]: parts[key] });
  return change;
}
