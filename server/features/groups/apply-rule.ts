import { decideReplicas, type ScalingDecision, type ScalingFacts } from "#protocol/groups/decide-replicas.ts";
import { deletionCostOf, hasUnsafe, isCostStale, isFree } from "#protocol/groups/deletion-cost.ts";
import { Fault, isFault, toFault } from "#protocol/faults/fault.ts";
import type { GroupRule } from "#prisma/client/client.ts";
import type { Hub } from "#server/core/api/hub.ts";
import { findStakes, type InstanceAtStake } from "./find-stakes.ts";
import type { GroupProvider, ProvidedGroup, ProvidedInstance } from "./provider.ts";

/** Applies the rule of one group: deletion costs first, so that a group that shrinks loses its idle instances. */

/** Costs that one round tells the provider; each is a request. */
const MOST_COSTS = 50;

export interface RuledGroup {
  rule: GroupRule;
  group: ProvidedGroup;
  instances: readonly ProvidedInstance[];
}

interface CostChange {
  instanceId: string;
  cost: number;
}

/** Sends the changed costs to the provider. Returns whether all were sent; the next round retries one that failed. */
async function tellCosts(hub: Hub, provider: GroupProvider, { group, instances }: RuledGroup): Promise<boolean> {
  const stakes = await findStakes(hub);
  const changes = instances
    .map((instance): CostChange & { shown: number | null } => ({
      instanceId: instance.id,
      cost: deletionCostOf(stakes.of(group, instance).stake),
      shown: instance.deletionCost,
    }))
    .filter(({ shown, cost }) => isCostStale(shown, cost))
    .toSorted((a, b) => b.cost - a.cost);
  let isTold = changes.length <= MOST_COSTS;
  for (const { instanceId, cost } of changes.slice(0, MOST_COSTS)) {
    try {
      await provider.setDeletionCost({ group: group.name, instanceId }, cost);
    } catch (error) {
      // An instance that is gone has nothing to lose any more.
      if (isFault(error) && error.code === "GROUP_UNKNOWN") continue;
      if (isFault(error) && (error.code === "GROUP_PAUSED" || error.code === "CANCELLED")) throw error;
      hub.log.warn({ fault: toFault(error).toData(), group: group.name }, "a deletion cost could not be told");
      isTold = false;
    }
  }
  return isTold;
}

/** Reads the facts of a decision at this moment. */
async function readFacts(hub: Hub, { rule, group, instances }: RuledGroup): Promise<ScalingFacts> {
  const now = hub.now();
  const { queue, min, max, idleMs, cooldownMs } = rule;
  const [waiting, leased, endedLately, paused] = await Promise.all([
    hub.db.job.count({ where: { queue, state: "waiting" } }),
    hub.db.job.count({ where: { queue, state: "running" } }),
    hub.db.job.count({ where: { queue, endedAt: { gt: new Date(now - idleMs) } } }),
    hub.db.jobQueue.count({ where: { name: queue, pausedAt: { not: null } } }),
  ]);
  const stakes = await findStakes(hub);
  const all: InstanceAtStake[] = [
    ...instances.map((instance) => stakes.of(group, instance)),
    ...stakes.unlisted(group, instances),
  ];
  return {
    limits: { min, max, idleMs, cooldownMs },
    waiting,
    isQueuePaused: paused > 0,
    leased,
    endedLately: idleMs === 0 ? 0 : endedLately,
    busy: all.filter(({ stake }) => !isFree(stake)).length,
    unsafe: all.filter(({ stake }) => hasUnsafe(stake)).length,
    replicas: group.replicas,
    isStopped: group.state === "stopped",
    lowerSince: rule.lowerSince?.getTime() ?? null,
    now,
  };
}

/** Cuts growth to the quota of the account. */
async function withinQuota(
  provider: GroupProvider,
  group: ProvidedGroup,
  decision: ScalingDecision,
): Promise<ScalingDecision> {
  const { replicas: quota } = await provider.readQuotas();
  if (quota === null) return decision;
  // The instances of a group that runs are in use already.
  const present = decision.action === "start" ? 0 : group.replicas;
  const most = Math.max(present, present + quota.most - quota.used);
  if (decision.replicas <= most) return decision;
  const limit = `the quota of the account leaves ${most} of the ${decision.replicas} that are wanted`;
  if (most <= present) {
    return { ...decision, action: "keep", replicas: group.replicas, reason: `Keeps ${group.replicas}: ${limit}.` };
  }
  const verb = decision.action === "start" ? `Started with ${most}` : `Grew from ${group.replicas} to ${most}`;
  return { ...decision, replicas: most, reason: `${verb}: ${limit}.` };
}

async function carryOut(provider: GroupProvider, name: string, { action, replicas }: ScalingDecision): Promise<void> {
  switch (action) {
    case "keep":
      return;
    case "stop":
      return provider.stop(name);
    case "start":
      // The number comes first, because a start uses the number that the group has.
      await provider.setReplicas(name, replicas);
      return provider.start(name);
    case "grow":
    case "shrink":
      return provider.setReplicas(name, replicas);
  }
}

/** Decides about one group and carries it out. @throws Fault of the provider */
export async function applyRule(hub: Hub, provider: GroupProvider, ruled: RuledGroup): Promise<ScalingDecision> {
  const { group, rule } = ruled;
  const areCostsTold = await tellCosts(hub, provider, ruled);
  let decision = decideReplicas(await readFacts(hub, ruled));
  if (decision.action === "grow" || decision.action === "start") {
    decision = await withinQuota(provider, group, decision);
  }
  if (decision.action === "shrink" && !areCostsTold) {
    throw new Fault("GROUP_REFUSED", {
      subject: rule.groupName,
      detail: "it does not shrink before the deletion costs of all instances are told",
    });
  }
  await carryOut(provider, group.name, decision);
  return decision;
}
