import { isExpected } from "#protocol/fleet/node-status.ts";
import { addRisks } from "#protocol/wire/risk.ts";
import { NOTHING_AT_STAKE, type InstanceStake } from "#protocol/groups/deletion-cost.ts";
import type { InstanceNode } from "#protocol/groups/groups.ts";
import type { Hub } from "#server/core/api/hub.ts";
import { risksOf, stateOf, type LiveNode } from "#server/core/live/live-node.ts";
import type { ProvidedGroup, ProvidedInstance } from "./provider.ts";

/**
 * Finds the nodes of this hub on the machines of a group, and what would be lost with each. A node belongs to a machine by the
 * identity that the platform signed, or else by the machine id that its worker reports: a wrong one can only protect.
 */

export interface InstanceAtStake {
  nodes: LiveNode[];
  stake: InstanceStake;
}

export interface Stakes {
  of(group: ProvidedGroup, instance: ProvidedInstance): InstanceAtStake;
  /** Nodes that report, with an identity of the group, on machines that the provider does not list. */
  unlisted(group: ProvidedGroup, instances: readonly ProvidedInstance[]): InstanceAtStake[];
}

interface Place {
  /** Null: the platform has not said. */
  groupId: string | null;
  machineId: string;
}

/** Returns the group and the machine of a node; null for a node of no platform. */
export function placeOf({ identity, facts }: Pick<LiveNode, "identity" | "facts">): Place | null {
  const [, groupId, machineId] = /^salad:[^/]+\/([^/]+)\/([^/]+)$/.exec(identity ?? "") ?? [];
  if (groupId !== undefined && machineId !== undefined) return { groupId, machineId };
  return facts.machineId === null || facts.machineId === "" ? null : { groupId: null, machineId: facts.machineId };
}

/** States in which a container may hold data of an earlier report. */
const HOLDING = new Set(["running", "stopping", "unknown"]);

/**
 * Returns the nodes whose work is at stake: those that report, or else the last one that enrolled, while its container may
 * still be there. Earlier ones of the machine are dead.
 */
function livingOf(nodes: readonly LiveNode[], state: string): LiveNode[] {
  const expected = nodes.filter((node) => isExpected(stateOf(node)));
  if (expected.length > 0 || !HOLDING.has(state)) return expected;
  const last = nodes.reduce<LiveNode | null>(
    (newest, node) => (newest === null || node.enrolledAt > newest.enrolledAt ? node : newest),
    null,
  );
  return last === null || stateOf(last) === "revoked" ? [] : [last];
}

export const nodeViews = (nodes: readonly LiveNode[]): InstanceNode[] =>
  nodes.map((node) => ({ id: node.id, name: node.name, state: stateOf(node) }));

interface Leases {
  byNode: ReadonlyMap<string, number>;
  /** Leases of workers of the Kelpie-compatible API, by their machine. */
  byMachine: ReadonlyMap<string, number>;
}

async function readLeases(hub: Hub): Promise<Leases> {
  const open = await hub.db.jobAttempt.findMany({
    where: { endedAt: null },
    select: { nodeId: true, machine: true },
  });
  const [byNode, byMachine] = [new Map<string, number>(), new Map<string, number>()];
  for (const { nodeId, machine } of open) {
    const [counts, key] = nodeId === null ? [byMachine, machine] : [byNode, nodeId];
    if (key !== null) counts.set(key, (counts.get(key) ?? 0) + 1);
  }
  return { byNode, byMachine };
}

function stakeOf(
  hub: Hub,
  nodes: readonly LiveNode[],
  { byNode, unverified }: { byNode: Leases["byNode"]; unverified: number },
): InstanceStake {
  return nodes.reduce<InstanceStake>(
    (sum, node) => {
      const risk = addRisks(risksOf(node, hub.now()));
      // The program of a node that said goodbye has ended: only what it captured is left to lose.
      const lossMs = stateOf(node) === "offline" ? 0 : risk.lossMs;
      return {
        ...sum,
        leases: sum.leases + (byNode.get(node.id) ?? 0),
        checkpoints: sum.checkpoints + risk.checkpoints,
        lossMs: sum.lossMs + lossMs,
      };
    },
    { ...NOTHING_AT_STAKE, leases: unverified, unverified },
  );
}

/** Reads what is at stake on the machines of all groups at this moment. */
export async function findStakes(hub: Hub): Promise<Stakes> {
  const leases = await readLeases(hub);
  const { byNode } = leases;
  const byMachine = new Map<string, { node: LiveNode; groupId: string | null }[]>();
  for (const node of hub.live.nodes.values()) {
    const place = placeOf(node);
    if (place === null) continue;
    byMachine.set(place.machineId, [...(byMachine.get(place.machineId) ?? []), { node, groupId: place.groupId }]);
  }
  const nodesOn = (group: ProvidedGroup, machineId: string): LiveNode[] =>
    (byMachine.get(machineId) ?? [])
      .filter(({ groupId }) => groupId === null || groupId === group.id)
      .map(({ node }) => node);
  return {
    of: (group, { machineId, state }) => {
      const nodes = livingOf(nodesOn(group, machineId), state);
      return { nodes, stake: stakeOf(hub, nodes, { byNode, unverified: leases.byMachine.get(machineId) ?? 0 }) };
    },
    unlisted: (group, instances) => {
      const listed = new Set(instances.map(({ machineId }) => machineId));
      return [...byMachine]
        .filter(([machineId]) => !listed.has(machineId))
        .map(([, found]) =>
          found
            .filter(({ node, groupId }) => groupId === group.id && isExpected(stateOf(node)))
            .map(({ node }) => node),
        )
        .filter((nodes) => nodes.length > 0)
        .map((nodes) => ({ nodes, stake: stakeOf(hub, nodes, { byNode, unverified: 0 }) }));
    },
  };
}
