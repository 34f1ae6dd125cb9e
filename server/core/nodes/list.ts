import { Fault } from "#protocol/faults/fault.ts";
import type { NodeRow } from "#protocol/wire/views.ts";
import type { Hub } from "../api/hub.ts";
import { nodeRowOf } from "../live/node-row.ts";
import { mapInSlices } from "#server/platform/pauses.ts";

/** Returns all nodes, by name. */
export async function listNodes(hub: Hub): Promise<NodeRow[]> {
  const rows = await mapInSlices([...hub.live.nodes.values()], (node) => nodeRowOf(hub.live, node, hub.now()));
  return rows.toSorted((a, b) => (a.name < b.name ? -1 : 1));
}

/**
 * Returns one node by its id or its name. Ids win, because a node may choose a name that equals the id of another. @throws
 * Fault NOT_FOUND
 */
export function readNode(hub: Hub, idOrName: string): NodeRow {
  const { nodes } = hub.live;
  const node = nodes.get(idOrName) ?? [...nodes.values()].find(({ name }) => name === idOrName);
  if (node === undefined) throw new Fault("NOT_FOUND", { subject: "this node" });
  return nodeRowOf(hub.live, node, hub.now());
}
