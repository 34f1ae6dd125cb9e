import { Fault, sentenceOf, toFault } from "#protocol/faults/fault.ts";
import type { ScalingDecision } from "#protocol/groups/decide-replicas.ts";
import type { GroupAccount, GroupRule } from "#prisma/client/client.ts";
import type { Hub } from "#server/core/api/hub.ts";
import { storedFault } from "#server/core/events/event-row.ts";
import { emit, recordEvent, type NewEvent } from "#server/core/events/record-event.ts";
import { applyRule } from "./apply-rule.ts";
import { fillPrices, priceOf, type PricedGroup } from "./fill-prices.ts";
import { withProvider } from "./open-provider.ts";
import type { GpuClass, GroupProvider, ProvidedGroup } from "./provider.ts";
import { readClasses } from "./read-groups.ts";

/**
 * Applies the rules of groups by the clock. Accounts take their rounds independently, so the fault of one never stops
 * another, and within an account no group waits for the fault of another.
 */

const TICK_MS = 5_000;
const RULES_EVERY_MS = 30_000;
/** Accounts without rules are asked only for prices. */
const PRICES_EVERY_MS = 600_000;

/** Stores the outcome for a rule. The first of several equal faults becomes an event. */
async function settle(
  hub: Hub,
  rule: GroupRule & { account: string },
  outcome: { decision: ScalingDecision } | { fault: Fault; isGone: boolean },
): Promise<void> {
  const now = hub.now();
  const name = `${rule.account}/${rule.groupName}`;
  let data: Partial<GroupRule>;
  let event: NewEvent | null = null;
  if ("decision" in outcome) {
    const { action, reason, lowerSince } = outcome.decision;
    data = {
      action,
      reason,
      lowerSince: lowerSince === null ? null : new Date(lowerSince),
      decidedAt: new Date(now),
      fault: null,
      goneAt: null,
    };
    const work = action === "grow" || action === "start" ? ("moving" as const) : ("safe" as const);
    if (action !== "keep") event = { at: now, kind: "group-scaled", work, text: `Group ${name}: ${reason}` };
  } else {
    const { fault, isGone } = outcome;
    // The cooldown begins again: nobody knows what was wanted meanwhile.
    data = { fault: JSON.stringify(fault.toData()), lowerSince: null };
    if (isGone && rule.goneAt === null) data.goneAt = new Date(now);
    if (storedFault(rule.fault)?.code !== fault.code) {
      const text = isGone
        ? `Group ${name} is gone: its rule waits until the provider lists it again`
        : `Group ${name} could not be scaled`;
      event = { at: now, kind: "group-failed", work: "risk", text, fault: fault.toData() };
    }
  }
  const row = await hub.db.$transaction(async (tx) => {
    // A rule that was removed or changed meanwhile is not overwritten.
    const where = { id: rule.id, queue: rule.queue, isEnabled: true };
    const { count } = await tx.groupRule.updateMany({ where, data });
    return count === 0 || event === null ? null : recordEvent(tx, event);
  });
  emit(hub, row, ["groups"]);
}

/** Applies one rule and keeps its fault for itself. A pause of the account ends the round. @throws Fault GROUP_PAUSED, CANCELLED */
async function takeRule(
  hub: Hub,
  provider: GroupProvider,
  { rule, group, price }: { rule: GroupRule & { account: string }; group: ProvidedGroup | undefined; price: PriceOf },
): Promise<PricedGroup[]> {
  if (group === undefined) {
    const fault = new Fault("GROUP_UNKNOWN", { subject: rule.groupName, detail: "the provider lists no such group" });
    await settle(hub, rule, { fault, isGone: true });
    return [];
  }
  try {
    const instances = await provider.listInstances(group.name);
    await settle(hub, rule, { decision: await applyRule(hub, provider, { rule, group, instances }) });
    return [{ group, instances, price: price(group) }];
  } catch (error) {
    const fault = toFault(error, { op: "scale", subject: rule.groupName });
    if (fault.code === "GROUP_PAUSED" || fault.code === "CANCELLED") throw fault;
    if (fault.code === "INTERNAL") hub.log.error({ error }, "the rule of a group could not be applied");
    await settle(hub, rule, { fault, isGone: false });
    return [];
  }
}

type PriceOf = (group: ProvidedGroup) => PricedGroup["price"];

async function takeRound(hub: Hub, account: GroupAccount, rules: readonly GroupRule[]): Promise<void> {
  const told = rules.map((rule) => ({ ...rule, account: account.name }));
  try {
    await withProvider(hub, account, async (provider) => {
      const groups = await provider.listGroups();
      const classes: ReadonlyMap<string, GpuClass> = await readClasses(hub, account.id, provider);
      const price: PriceOf = (group) => priceOf(group, classes);
      const priced: PricedGroup[] = [];
      for (const rule of told) {
        const group = groups.find(({ name }) => name === rule.groupName);
        priced.push(...(await takeRule(hub, provider, { rule, group, price })));
      }
      const others = groups.filter(({ name }) => !rules.some(({ groupName }) => groupName === name));
      await fillPrices(hub, [...priced, ...others.map((group) => ({ group, instances: [], price: price(group) }))]);
    });
  } catch (error) {
    const fault = toFault(error, { op: "groups", subject: account.name });
    if (fault.code === "GROUP_PAUSED" || fault.code === "CANCELLED") return;
    if (fault.code === "INTERNAL") throw fault;
    for (const rule of told) await settle(hub, rule, { fault, isGone: false });
    hub.log.warn({ account: account.name, fault: sentenceOf(fault.toData()) }, "groups could not be read");
  }
}

/** Begins the rounds that are due, and resolves when all in flight are over. `isForced`: all are due. Never rejects. */
export async function keepGroups(hub: Hub, isForced = false): Promise<void> {
  const accounts = await hub.db.groupAccount.findMany({ include: { rules: { where: { isEnabled: true } } } });
  for (const { rules, ...account } of accounts) {
    const { rounds, roundAt } = hub.groups;
    const dueAt = (roundAt.get(account.id) ?? 0) + (rules.length > 0 ? RULES_EVERY_MS : PRICES_EVERY_MS);
    if (rounds.has(account.id) || (!isForced && hub.now() < dueAt)) continue;
    roundAt.set(account.id, hub.now());
    const round = takeRound(hub, account, rules)
      .catch((error: unknown) => hub.log.error({ error, account: account.name }, "the round of an account failed"))
      .finally(() => rounds.delete(account.id));
    rounds.set(account.id, round);
  }
  await Promise.all(hub.groups.rounds.values());
}

/** Starts the timer, apart from the hub's own tick, because providers may be slow. Returns how to stop it. */
export function startScalingGroups(hub: Hub): { stop: () => Promise<void> } {
  const looks = new Set<Promise<void>>();
  const timer = setInterval(() => {
    const look = keepGroups(hub)
      .catch((error: unknown) => hub.log.error({ error }, "the accounts of groups could not be read"))
      .finally(() => looks.delete(look));
    looks.add(look);
  }, TICK_MS);
  return {
    stop: async () => {
      clearInterval(timer);
      await Promise.all(looks);
    },
  };
}
