import { Fault } from "#protocol/faults/fault.ts";
import type { NodeWords } from "#protocol/fleet/node-words.ts";
import type { Hub } from "../api/hub.ts";
import { stateOf } from "../live/live-node.ts";

/**
 * Returns the tail of the training program's log, from the node's newest report. Callers poll it while a person reads. Each
 * call makes the node report its log frequently; in a large fleet reports otherwise leave it out. @throws Fault NOT_FOUND
 */
export function readWords(hub: Hub, id: string): NodeWords {
  const node = hub.live.nodes.get(id);
  if (node === undefined) throw new Fault("NOT_FOUND", { subject: "this node" });
  hub.live.readClosely(node, hub.now());
  const { report } = node;
  return { text: report?.logTail ?? null, at: report === null ? null : node.reportedAt, state: stateOf(node) };
}
