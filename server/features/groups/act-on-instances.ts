import type * as z from "zod";
import type { actInput, ActAnswer, InstanceLoss } from "#protocol/groups/groups.ts";
import { deletionCostOf, hasUnsafe } from "#protocol/groups/deletion-cost.ts";
import { Fault, isFault, toFault } from "#protocol/faults/fault.ts";
import { audit } from "#server/core/api/audit.ts";
import type { Context } from "#server/core/api/trpc.ts";
import type { Hub } from "#server/core/api/hub.ts";
import { emit, recordEvent } from "#server/core/events/record-event.ts";
import { accountMemory, type AccountMemory } from "#server/core/live/group-memory.ts";
import { findStakes, nodeViews, type InstanceAtStake } from "./find-stakes.ts";
import { findAccount, withProvider } from "./open-provider.ts";
import type { GroupProvider, ProvidedGroup, ProvidedInstance } from "./provider.ts";
import { forgetReading } from "./read-groups.ts";

/** Reallocates, recreates or restarts instances, which loses what on them is not safe. */

const MINUTE_MS = 60_000;
/** Longest time for the actions of one request. The instances that remain are left. */
const ACTING_MS = 30_000;
type Input = z.infer<typeof actInput>;
type Chosen = ProvidedInstance & { at: InstanceAtStake };

async function choose(provider: GroupProvider, group: string, { hub, ids }: { hub: Hub; ids: string[] | null }) {
  const known = (await provider.listGroups()).find(({ name }) => name === group);
  if (known === undefined) throw new Fault("GROUP_UNKNOWN", { subject: group });
  const instances = await provider.listInstances(group);
  const wanted = new Set(ids);
  const chosen = ids === null ? instances : instances.filter(({ id }) => wanted.has(id));
  if (ids !== null && chosen.length === 0) throw new Fault("GROUP_UNKNOWN", { subject: ids[0] ?? group });
  return weigh(hub, known, chosen);
}

/**
 * Reads the work at stake now. The cheapest instances come first, so that a quota leaves those with the most to lose
 * for later.
 */
async function weigh(hub: Hub, group: ProvidedGroup, instances: readonly ProvidedInstance[]): Promise<Chosen[]> {
  const stakes = await findStakes(hub);
  return instances
    .map((instance) => ({ ...instance, at: stakes.of(group, instance) }))
    .toSorted((a, b) => deletionCostOf(a.at.stake) - deletionCostOf(b.at.stake));
}

const lossesOf = (chosen: readonly Chosen[]): InstanceLoss[] =>
  chosen
    .filter(({ at }) => at.stake.leases > 0 || hasUnsafe(at.stake))
    .map(({ id, machineId, at }) => ({ instanceId: id, machineId, nodes: nodeViews(at.nodes), stake: at.stake }));

/** Returns how many more of these actions the provider takes in this minute. */
async function roomOf(hub: Hub, provider: GroupProvider, { accountId, action }: Input): Promise<number> {
  const memory = accountMemory(hub.groups, accountId);
  memory.acted = memory.acted.filter(({ at }) => at > hub.now() - MINUTE_MS);
  const most = (await provider.readQuotas()).perMinute[action];
  if (most === null) return Infinity;
  return Math.max(0, most - memory.acted.filter((one) => one.action === action).length);
}

async function actOnEach(
  hub: Hub,
  provider: GroupProvider,
  { input, some }: { input: Input; some: readonly Chosen[] },
) {
  const faults: ActAnswer["faults"] = [];
  let done = 0;
  const until = hub.now() + ACTING_MS;
  for (const { id } of some) {
    if (hub.now() >= until) break;
    try {
      accountMemory(hub.groups, input.accountId).acted.push({ at: hub.now(), action: input.action });
      await provider.act({ group: input.group, instanceId: id }, input.action);
      done += 1;
    } catch (error) {
      const fault = toFault(error);
      faults.push({ instanceId: id, fault: fault.toData() });
      noteFailure(hub, input.accountId, fault);
      // The others would meet the same.
      if (isFault(error) && error.code !== "GROUP_UNKNOWN" && error.code !== "GROUP_REFUSED") break;
    }
  }
  return { done, faults };
}

/** Last failure to reach the provider of each account, with its time by the monotonic clock. */
const failures = new WeakMap<AccountMemory, { at: number; fault: Fault }>();

/** Records that a provider did not answer at all. An answer with a status may be about one group alone. */
function noteFailure(hub: Hub, accountId: string, fault: Fault): void {
  if (fault.code !== "GROUP_UNREACHABLE" || fault.context.status !== undefined) return;
  failures.set(accountMemory(hub.groups, accountId), { at: performance.now(), fault });
}

/**
 * Runs one call after another for each account, so that two calls do not spend the same quota. A call that waited while the
 * provider was unreachable ends with that fault, instead of waiting for the same timeout again.
 */
function inTurn<T>(hub: Hub, accountId: string, work: () => Promise<T>): Promise<T> {
  const memory = accountMemory(hub.groups, accountId);
  const askedAt = performance.now();
  return hub.locks.run(`group actions ${accountId}`, async () => {
    const failed = failures.get(memory);
    if (failed !== undefined && failed.at > askedAt) throw failed.fault;
    try {
      return await work();
    } catch (error) {
      if (isFault(error)) noteFailure(hub, accountId, error);
      throw error;
    }
  });
}

/**
 * Acts on instances of a group, or tells what that would do.
 * @throws Fault NOT_FOUND, GROUP_UNKNOWN and others of the provider
 */
export async function actOnInstances(context: Context, input: Input): Promise<ActAnswer> {
  const { hub, caller } = context;
  const account = await findAccount(hub, input.accountId);
  const answer = await inTurn(hub, account.id, () =>
    withProvider(hub, account, async (provider): Promise<ActAnswer> => {
      const chosen = await choose(provider, input.group, { hub, ids: input.instanceIds });
      const losses = lossesOf(chosen);
      const room = await roomOf(hub, provider, input);
      const some = chosen.slice(0, room);
      const mayLose = new Set(input.mayLose);
      const isRefused = losses.some(({ instanceId, stake }) => hasUnsafe(stake) && !mayLose.has(instanceId));
      const told = { found: chosen.length, losses, isRefused, done: 0, left: chosen.length - some.length, faults: [] };
      if (input.dryRun || isRefused) return told;
      const { done, faults } = await actOnEach(hub, provider, { input, some });
      return { ...told, done, faults, left: chosen.length - done - faults.length };
    }),
  );
  if (answer.done === 0) return answer;
  forgetReading(hub, account.id);
  const which = `${answer.done} ${answer.done === 1 ? "instance" : "instances"} of ${account.name}/${input.group}`;
  const event = await hub.db.$transaction(async (tx) => {
    const subject = `${which}: ${(input.instanceIds ?? ["all"]).join(", ").slice(0, 500)}`;
    await audit({ db: tx, now: hub.now }, caller, { action: `${input.action} instances`, subject });
    const by = caller.kind === "person" || caller.kind === "token" ? ` by ${caller.person.email}` : "";
    const work = answer.losses.some(({ stake }) => hasUnsafe(stake)) ? ("risk" as const) : ("moving" as const);
    return recordEvent(tx, {
      at: hub.now(),
      kind: "group-changed",
      work,
      text: `${VERBS[input.action]} ${which}${by}`,
    });
  });
  emit(hub, event, ["groups"]);
  return answer;
}

const VERBS = { reallocate: "Reallocated", recreate: "Recreated", restart: "Restarted" } as const;
