import { fitsNode, fitsPattern } from "#protocol/base/scope.ts";
import type { Hub } from "#server/core/api/hub.ts";
import type { LiveRule } from "#server/core/api/ports/alert-memory.ts";

/** Returns whether the scope of a rule includes a node and a run. A node that is gone is in a scope of all nodes only. */
export const isMeant = (hub: Hub, rule: LiveRule, about: { nodeId: string; run: string | null }): boolean => {
  const node = hub.live.nodes.get(about.nodeId);
  const isHere = node === undefined ? rule.scope.nodes === null : fitsNode(node, rule.scope);
  return isHere && (about.run === null || fitsPattern(about.run, rule.scope.runs));
};
