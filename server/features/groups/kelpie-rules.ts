import type * as z from "zod";
import { Fault, toFault } from "#protocol/faults/fault.ts";
import {
  containerGroupId,
  type ImportedRule,
  type importRulesInput,
  type KelpieRule,
  type KelpieRuleAnswer,
  type KelpieRuleChange,
} from "#protocol/groups/kelpie-rules.ts";
import type { GroupAccount, GroupRule } from "#prisma/client/client.ts";
import type { PersonCaller } from "#server/core/api/caller.ts";
import type { Hub } from "#server/core/api/hub.ts";
import type { Context } from "#server/core/api/trpc.ts";
import { withProvider } from "./open-provider.ts";
import type { ProvidedGroup } from "./provider.ts";
import { removeRule, setRule } from "./rules.ts";

/**
 * Reads and sets rules of groups in the form of Kelpie's scaling rules. Such a rule has a queue that is named by the id of the
 * container group, as the queues of Kelpie's jobs are. All other rules are not shown.
 */

/** Kelpie decides every five minutes, so a group shrinks no sooner. */
const COOLDOWN_MS = 5 * 60_000;
/** Longest time for the answers of all accounts. */
const ANSWERS_MS = 20_000;

interface Found {
  account: GroupAccount;
  group: ProvidedGroup;
}

/**
 * Lists the groups of all accounts by their ids, and the fault of an account that did not answer. All accounts are asked at
 * once and together take at most `ANSWERS_MS`, because one request of a client waits for all of them.
 */
async function readAllGroups(hub: Hub): Promise<{ groups: Map<string, Found>; fault: Fault | null }> {
  const accounts = await hub.db.groupAccount.findMany({ orderBy: { name: "asc" } });
  const answers = await Promise.allSettled(
    accounts.map((account) =>
      withProvider(hub, { ...account, answerMs: ANSWERS_MS }, (provider) => provider.listGroups()),
    ),
  );
  const groups = new Map<string, Found>();
  let fault: Fault | null = null;
  for (const [index, account] of accounts.entries()) {
    const answer = answers[index];
    if (answer?.status === "fulfilled") {
      for (const group of answer.value) if (!groups.has(group.id)) groups.set(group.id, { account, group });
    } else fault ??= faultOf(answer?.reason, account);
  }
  return { groups, fault };
}

function faultOf(error: unknown, account: GroupAccount): Fault {
  const { code, context } = toFault(error, { op: "groups" });
  return new Fault(code, { ...context, subject: account.name });
}

const limitsOf = ({ min_replicas: min, max_replicas: max, idle_threshold_seconds: idle }: KelpieRule) => ({
  min,
  max,
  idleMs: idle * 1_000,
  cooldownMs: COOLDOWN_MS,
});

const answerOf = (rule: GroupRule, account: Pick<GroupAccount, "organization" | "project">): KelpieRuleAnswer => ({
  container_group_id: rule.queue,
  min_replicas: rule.min,
  max_replicas: rule.max,
  idle_threshold_seconds: Math.round(rule.idleMs / 1_000),
  org_name: account.organization,
  project_name: account.project,
  container_group_name: rule.groupName,
});

const isKelpieRule = ({ queue }: Pick<GroupRule, "queue">): boolean => containerGroupId.safeParse(queue).success;

/** Returns the stored rule of a container group with its account; null when there is none. */
const findRule = (hub: Hub, id: string) =>
  hub.db.groupRule.findFirst({ where: { queue: id }, include: { account: true }, orderBy: { id: "asc" } });

export async function listKelpieRules(hub: Hub): Promise<KelpieRuleAnswer[]> {
  const rules = await hub.db.groupRule.findMany({ include: { account: true }, orderBy: { id: "asc" } });
  return rules.filter(isKelpieRule).map((rule) => answerOf(rule, rule.account));
}

export async function readKelpieRule(hub: Hub, id: string): Promise<KelpieRuleAnswer | null> {
  const rule = await findRule(hub, id);
  return rule === null ? null : answerOf(rule, rule.account);
}

type Author = { hub: Hub; caller: PersonCaller };

/**
 * Sets the rule of a container group. Returns null when no account has the group. @throws Fault of the provider, when an
 * account that may have the group does not answer
 */
export async function setKelpieRule({ hub, caller }: Author, rule: KelpieRule): Promise<KelpieRuleAnswer | null> {
  const { groups, fault } = await readAllGroups(hub);
  const found = groups.get(rule.container_group_id);
  if (found === undefined && fault !== null) throw fault;
  if (found === undefined) return null;
  await store({ hub, caller }, found, rule);
  return readKelpieRule(hub, rule.container_group_id);
}

const store = (author: Author, { account, group }: Found, rule: KelpieRule) =>
  setRule(author, {
    accountId: account.id,
    group: group.name,
    queue: rule.container_group_id,
    limits: limitsOf(rule),
    isEnabled: true,
  });

/** Changes a rule. Returns null when there is none. @throws Fault BAD_INPUT when its limits would not be in order */
export async function changeKelpieRule(
  { hub, caller }: Author,
  id: string,
  change: KelpieRuleChange,
): Promise<KelpieRuleAnswer | null> {
  const before = await findRule(hub, id);
  if (before === null) return null;
  const { account, groupName: group, isEnabled, cooldownMs } = before;
  const known = answerOf(before, account);
  const rule: KelpieRule = {
    container_group_id: id,
    min_replicas: change.min_replicas ?? known.min_replicas,
    max_replicas: change.max_replicas ?? known.max_replicas,
    idle_threshold_seconds: change.idle_threshold_seconds ?? known.idle_threshold_seconds,
  };
  if (rule.min_replicas > rule.max_replicas)
    throw new Fault("BAD_INPUT", { subject: "max_replicas", detail: "it is at least min_replicas" });
  const limits = { ...limitsOf(rule), cooldownMs };
  await setRule({ hub, caller }, { accountId: account.id, group, queue: before.queue, limits, isEnabled });
  return readKelpieRule(hub, id);
}

/** Removes a rule. The group stays as it is; an unknown rule changes nothing. */
export async function removeKelpieRule({ hub, caller }: Author, id: string): Promise<void> {
  const rule = await findRule(hub, id);
  if (rule !== null) await removeRule({ hub, caller }, { accountId: rule.accountId, group: rule.groupName });
}

/**
 * Sets rules of another Kelpie, and returns what became of each, in their order. A group that has a rule here keeps it.
 * @throws Fault of the provider, when an account that may have one of the groups does not answer
 */
export async function importRules(
  { hub, caller }: Context & { caller: PersonCaller },
  { rules, dryRun }: z.infer<typeof importRulesInput>,
): Promise<{ rules: ImportedRule[] }> {
  const { groups, fault } = await readAllGroups(hub);
  if (fault !== null && rules.some(({ container_group_id: id }) => !groups.has(id))) throw fault;
  const answers: ImportedRule[] = [];
  for (const rule of rules) {
    const id = rule.container_group_id;
    const found = groups.get(id);
    if (found === undefined) {
      answers.push({ containerGroupId: id, outcome: "unknown", group: null });
      continue;
    }
    const where = { accountId: found.account.id, groupName: found.group.name };
    const isKept = (await hub.db.groupRule.count({ where })) > 0;
    if (!isKept && !dryRun) await store({ hub, caller }, found, rule);
    answers.push({ containerGroupId: id, outcome: isKept ? "kept" : "set", group: found.group.name });
  }
  return { rules: answers };
}
