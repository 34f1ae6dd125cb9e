import { Fault } from "#protocol/fault.ts";
import type { NodeRow } from "#protocol/views.ts";
import type { Hub } from "../hub.ts";
import { nodeRowOf } from "../live/node-row.ts";

/** All nodes, by name. */
export function listNodes(hub: Hub): NodeRow[] {
  const rows = [...hub.live.nodes.values()].map((node) => nodeRowOf(hub.live, node, hub.now()));
  return rows.toSorted((a, b) => (a.name < b.name ? -1 : 1));
}

/** @throws Fault NOT_FOUND */
export function readNode(hub: Hub, id: string): NodeRow {
  const node = hub.live.nodes.get(id);
  if (node === undefined) throw new Fault("NOT_FOUND", { subject: "this node" });
  return nodeRowOf(hub.live, node, hub.now());
}
