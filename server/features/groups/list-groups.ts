import type { GroupsAnswer, GroupView, InstanceView, RuleView } from "#protocol/groups/groups.ts";
import type { ScalingAction } from "#protocol/groups/decide-replicas.ts";
import { toFault, type FaultData } from "#protocol/faults/fault.ts";
import type { GroupRule } from "#prisma/client/client.ts";
import type { Hub } from "#server/core/api/hub.ts";
import { storedFault } from "#server/core/events/event-row.ts";
import { priceOf } from "./fill-prices.ts";
import { findStakes, nodeViews, type Stakes } from "./find-stakes.ts";
import { findAccount } from "./open-provider.ts";
import type { GpuClass } from "./provider.ts";
import { readGroups, type ReadGroup } from "./read-groups.ts";

const ACTIONS: readonly ScalingAction[] = ["keep", "grow", "shrink", "start", "stop"];

const ruleView = (rule: GroupRule): RuleView => ({
  id: rule.id,
  queue: rule.queue,
  limits: { min: rule.min, max: rule.max, idleMs: rule.idleMs, cooldownMs: rule.cooldownMs },
  isEnabled: rule.isEnabled,
  decidedAt: rule.decidedAt?.getTime() ?? null,
  action: ACTIONS.find((action) => action === rule.action) ?? null,
  reason: rule.reason,
  fault: storedFault(rule.fault),
  goneAt: rule.goneAt?.getTime() ?? null,
});

function viewOf(
  { group, instances, fault }: ReadGroup,
  about: { classes: ReadonlyMap<string, GpuClass>; stakes: Stakes; rule: GroupRule | undefined },
): GroupView {
  const { classes, stakes, rule } = about;
  return {
    name: group.name,
    label: group.label,
    state: group.state,
    about: group.about,
    replicas: group.replicas,
    gpus: group.gpuClassIds.map((id) => classes.get(id)?.name ?? id),
    price: priceOf(group, classes),
    isKnown: true,
    instances: instances.map((instance): InstanceView => {
      const { nodes, stake } = stakes.of(group, instance);
      return { ...instance, nodes: nodeViews(nodes), stake };
    }),
    fault,
    rule: rule === undefined ? null : ruleView(rule),
  };
}

/** Returns a group of which only the rule is known. */
const bareView = (rule: GroupRule, isKnown: boolean): GroupView => ({
  name: rule.groupName,
  label: rule.groupName,
  state: "unknown",
  about: "",
  replicas: 0,
  gpus: [],
  price: null,
  isKnown,
  instances: [],
  fault: null,
  rule: ruleView(rule),
});

/** Lists the groups of an account beside the nodes of this hub, and the rules whose groups are gone. @throws Fault NOT_FOUND */
export async function listGroups(hub: Hub, { accountId }: { accountId: string }): Promise<GroupsAnswer> {
  const account = await findAccount(hub, accountId);
  const rules = new Map(
    (await hub.db.groupRule.findMany({ where: { accountId } })).map((rule) => [rule.groupName, rule]),
  );
  let fault: FaultData | null = null;
  const reading = await readGroups(hub, account).catch((error: unknown) => {
    fault = toFault(error, { op: "groups", subject: account.name }).toData();
    return null;
  });
  if (reading === null) return { groups: [...rules.values()].map((rule) => bareView(rule, true)), fault };
  const stakes = await findStakes(hub);
  const views = reading.groups.map((read) => {
    const rule = rules.get(read.group.name);
    rules.delete(read.group.name);
    return viewOf(read, { classes: reading.classes, stakes, rule });
  });
  const groups = [...views, ...[...rules.values()].map((rule) => bareView(rule, false))];
  return { groups: groups.toSorted((a, b) => (a.name < b.name ? -1 : 1)), fault: null };
}
