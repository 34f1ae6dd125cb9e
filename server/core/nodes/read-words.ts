import { Fault } from "#protocol/faults/fault.ts";
import type { NodeWords } from "#protocol/fleet/node-words.ts";
import type { Hub } from "../api/hub.ts";
import { stateOf } from "../live/live-node.ts";

/**
 * The last words of the program on a node, from its newest report. They are asked for again and again while somebody reads
 * them; the node then reports at once, in a large fleet too, where it would say nothing of its program otherwise.
 * @throws Fault NOT_FOUND
 */
export function readWords(hub: Hub, id: string): NodeWords {
  const node = hub.live.nodes.get(id);
  if (node === undefined) throw new Fault("NOT_FOUND", { subject: "this node" });
  hub.live.readClosely(node, hub.now());
  const { report } = node;
  return { text: report?.logTail ?? null, at: report === null ? null : node.reportedAt, state: stateOf(node) };
}
