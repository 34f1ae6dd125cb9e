import { describe, expect, it } from "vitest";
import { nodeName } from "#protocol/base/names.ts";
import { callAs } from "#server/testing/open-test-hub.ts";
import {
  accountId,
  addAccount,
  addGroup,
  addJob,
  groupsForEach,
  nodeOn,
  people,
  salad,
  tellUnsafe,
  test,
} from "#server/testing/groups/groups-for-each.ts";
import { fault } from "#server/testing/match-fault.ts";
import { markSilentNodes } from "#server/http/tick.ts";
import type { InstanceAction } from "#protocol/groups/groups.ts";

/** Accounts, the list of groups beside the nodes of the hub, and actions on instances. */

groupsForEach();

const account = (name: string, changes: object = {}) => ({
  name: nodeName.parse(name),
  provider: "salad" as const,
  organization: salad.organization,
  project: salad.project,
  ...changes,
});
const list = async () => (await people().list({ accountId })).groups;
const at = <T>(all: readonly T[], index: number): T => {
  const found = all.at(index);
  if (found === undefined) throw new Error(`there is no ${index}`);
  return found;
};
const act = (action: InstanceAction, changes: object = {}) =>
  people().act({ accountId, group: "trainers", instanceIds: null, action, ...changes });
const actions = () => salad.requests.filter((one) => /\/(reallocate|recreate|restart)$/.test(one));

describe("an account", () => {
  it("never shows its key: not in an answer, an event, the audit or the database", async () => {
    await people().accounts.test({ id: accountId });
    await people().accounts.update({ id: accountId, version: 1, account: account("renamed"), key: null });
    const { db } = test.hub;
    const stored = [
      await db.groupAccount.findMany({ include: { secret: true } }),
      await db.audit.findMany(),
      await db.event.findMany(),
      await people().accounts.list(),
    ];
    const text = JSON.stringify(stored, (_, value: unknown) => (typeof value === "bigint" ? Number(value) : value));
    expect(text).toContain("renamed");
    expect(text).not.toContain(salad.key);
    expect((await people().accounts.test({ id: accountId })).ok).toBe(true);
    const audited = await db.audit.findMany({ where: { action: { contains: "group account" } } });
    expect(audited.map(({ action }) => action)).toEqual(
      expect.arrayContaining(["add group account", "test group account", "change group account"]),
    );
  });

  it("takes another key, and needs one for another organization", async () => {
    const id = await addAccount("second", { key: "not-the-key" });
    expect((await people().accounts.test({ id })).ok).toBe(false);
    const update = { id, version: 1, account: account("second"), key: salad.key };
    await people().accounts.update(update);
    expect((await people().accounts.test({ id })).ok).toBe(true);
    await expect(people().accounts.update(update)).rejects.toEqual(fault("CONFLICT"));
    const elsewhere = { ...update, version: 2, account: account("second", { organization: "other" }), key: null };
    await expect(people().accounts.update(elsewhere)).rejects.toEqual(fault("CONFLICT"));
    await expect(addAccount("second")).rejects.toEqual(fault("CONFLICT"));
  });

  it("goes with its rules and its key", async () => {
    const limits = { min: 0, max: 1, idleMs: 0, cooldownMs: 0 };
    await people().setRule({ accountId, group: "trainers", queue: "default", limits });
    await people().accounts.remove({ id: accountId });
    const { db } = test.hub;
    expect([await db.groupRule.count(), await db.groupAccountSecret.count()]).toEqual([0, 0]);
    await expect(list()).rejects.toEqual(fault("NOT_FOUND"));
  });

  it.each([{ organization: "../other" }, { project: "a/b" }, { project: "" }])("refuses %o", async (changes) => {
    const made = people().accounts.create({ account: account("odd", changes), key: salad.key });
    await expect(made).rejects.toMatchObject({ code: "BAD_REQUEST" });
  });

  it("has a key that an HTTP header can carry", async () => {
    const made = people().accounts.create({ account: account("odd"), key: "eight\r\nx-evil: 1" });
    await expect(made).rejects.toMatchObject({ code: "BAD_REQUEST" });
  });
});

describe("the list of groups", () => {
  it("shows instances beside the nodes of their machines, by signed identity before a claimed machine", async () => {
    salad.gpuClasses = [
      { id: "gpu-a", name: "RTX 3090", prices: [{ priority: "medium", price: "0.10" }] },
      {
        id: "gpu-b",
        name: "RTX 4090",
        prices: [
          { priority: "medium", price: "0.18" },
          { priority: "high", price: "9" },
        ],
      },
    ];
    const group = addGroup("trainers", 3, { gpuClasses: ["gpu-a", "gpu-b"] });
    const other = addGroup("others", 1);
    const [first, second] = [at(group.instances, 0), at(group.instances, 1)];
    await nodeOn(group, first, "gpu-1");
    // An identity of another group is not of this one, although the machine is the same.
    await nodeOn(other, first, "gpu-2");
    const claimed = await nodeOn(group, second, "gpu-3");
    const live = test.hub.live.nodes.get(claimed.nodeId);
    if (live === undefined) throw new Error("no node");
    Object.assign(live, { identity: null, facts: { ...live.facts, machineId: second.machine_id } });
    await addJob("default", { nodeId: claimed.nodeId });
    const [, trainers] = await list();
    expect(trainers).toMatchObject({
      name: "trainers",
      state: "running",
      replicas: 3,
      gpus: ["RTX 3090", "RTX 4090"],
      price: { perHour: 0.18, currency: "USD" },
    });
    const rows = trainers?.instances.map(({ nodes, stake }) => [nodes.map(({ name }) => name), stake.leases]);
    expect(rows).toEqual([
      [["gpu-1"], 0],
      [["gpu-3"], 1],
      [[], 0],
    ]);
  });

  it("counts what a silent node left while its machine is still there, and not that of a dead one before it", async () => {
    const group = addGroup("trainers", 1);
    const dead = await nodeOn(group, at(group.instances, 0), "gpu-1");
    await tellUnsafe(dead, { checkpoints: 3, lossMs: 0 });
    test.advance(60_000);
    await markSilentNodes(test.hub);
    const stakeNow = async () => {
      test.advance(16_000);
      return at(at(await list(), 0).instances, 0).stake;
    };
    expect(await stakeNow()).toMatchObject({ checkpoints: 3 });
    await nodeOn(group, at(group.instances, 0), "gpu-2");
    expect(await stakeNow()).toMatchObject({ checkpoints: 0 });
  });

  it("shares an answer for some seconds, so that open pages do not spend the requests of the account", async () => {
    addGroup("trainers", 1);
    await list();
    const before = salad.requests.length;
    await Promise.all([list(), list(), callAs(test.hub, "viewer").groups.list({ accountId })]);
    expect(salad.requests).toHaveLength(before);
    test.advance(16_000);
    await Promise.all([list(), list()]);
    expect(salad.requests.slice(before)).toEqual(["GET containers", "GET containers/trainers/instances"]);
  });

  it("shows the fault of the account, and the rules all the same", async () => {
    const limits = { min: 0, max: 1, idleMs: 0, cooldownMs: 0 };
    await people().setRule({ accountId, group: "trainers", queue: "default", limits });
    salad.key = "replaced";
    expect(await people().list({ accountId })).toMatchObject({
      fault: { code: "GROUP_KEY_REFUSED" },
      groups: [{ name: "trainers", rule: { queue: "default" } }],
    });
  });
});

describe("an action", () => {
  it.each(["reallocate", "recreate", "restart"] as const)("can %s one instance or all", async (action) => {
    const group = addGroup("trainers", 3);
    const one = at(group.instances, 1);
    expect(await act(action, { instanceIds: [one.id] })).toMatchObject({ found: 1, done: 1, left: 0 });
    expect(group.instances.map(({ state }) => state)).toEqual(["running", "allocating", "running"]);
    expect(await act(action)).toMatchObject({ found: 3, done: 3 });
    const [event] = await test.hub.db.event.findMany({ where: { kind: "group-changed" }, orderBy: { id: "desc" } });
    expect(event?.text).toMatch(/ed 3 instances of main\/trainers by admin@example\.com$/);
    const audited = await test.hub.db.audit.findMany({ where: { action: `${action} instances` } });
    expect(audited.at(-1)?.subject).toBe("3 instances of main/trainers: all");
  });

  it("is refused as a whole while something would be lost that nobody confirmed", async () => {
    const group = addGroup("trainers", 3);
    const node = await nodeOn(group, at(group.instances, 0), "gpu-1");
    const other = await nodeOn(group, at(group.instances, 1), "gpu-2");
    await tellUnsafe(node, { checkpoints: 2, lossMs: 0 });
    const refused = await act("reallocate");
    expect(refused).toMatchObject({ isRefused: true, done: 0, found: 3 });
    expect(refused.losses).toMatchObject([{ nodes: [{ name: "gpu-1" }], stake: { checkpoints: 2 } }]);
    expect(actions()).toEqual([]);
    const mayLose = [at(group.instances, 0).id];
    expect(await act("reallocate", { mayLose, dryRun: true })).toMatchObject({ isRefused: false, done: 0 });
    expect(actions()).toEqual([]);
    // Meanwhile another instance has something to lose, which nobody has read.
    await tellUnsafe(other, { checkpoints: 0, lossMs: 60_000 });
    expect(await act("reallocate", { mayLose })).toMatchObject({ isRefused: true, done: 0 });
    expect(actions()).toEqual([]);
    mayLose.push(at(group.instances, 1).id);
    expect(await act("reallocate", { mayLose })).toMatchObject({ isRefused: false, done: 3 });
  });

  it("is refused for a worker that moves its data itself, of which nothing is known", async () => {
    const group = addGroup("trainers", 1);
    await addJob("default", { machine: at(group.instances, 0).machine_id });
    expect(await act("restart")).toMatchObject({ isRefused: true, losses: [{ stake: { unverified: 1, leases: 1 } }] });
  });

  it("keeps to the quota of a minute, and leaves those with most to lose for later", async () => {
    const group = addGroup("trainers", 5);
    const node = await nodeOn(group, at(group.instances, 0), "gpu-1");
    await addJob("default", { nodeId: node.nodeId });
    salad.quotas["max_container_group_recreates_per_minute"] = 3;
    expect(await act("recreate")).toMatchObject({ found: 5, done: 3, left: 2 });
    expect(actions()).not.toContain(`POST containers/trainers/instances/${at(group.instances, 0).id}/recreate`);
    expect(await act("recreate")).toMatchObject({ done: 0, left: 5 });
    expect(await act("restart")).toMatchObject({ done: 5, left: 0 });
    test.advance(61_000);
    expect(await act("recreate")).toMatchObject({ done: 3 });
  });

  it("leaves the instances that it does not reach in half a minute", async () => {
    addGroup("trainers", 4);
    salad.beforeAnswer = () => {
      if (salad.requests.at(-1)?.endsWith("/restart") === true) test.advance(16_000);
      return Promise.resolve();
    };
    expect(await act("restart")).toMatchObject({ found: 4, done: 2, left: 2, faults: [] });
  });

  it("ends with the fault of the call before, for which it waited, where the provider cannot be reached", async () => {
    addGroup("trainers", 1);
    salad.failures.push(...Array.from({ length: 3 }, () => ({ status: 0 })));
    const before = salad.requests.length;
    const unreached = { status: "rejected", reason: fault("GROUP_UNREACHABLE") };
    expect(await Promise.allSettled([act("restart"), act("restart")])).toEqual([unreached, unreached]);
    expect(salad.requests).toHaveLength(before + 3);
    expect(await act("restart")).toMatchObject({ done: 1 });
    // An answer with a status may be about this group alone.
    salad.failures.push(...Array.from({ length: 3 }, () => ({ status: 500 })));
    const [failed, next] = await Promise.allSettled([act("restart"), act("restart")]);
    expect([failed, next]).toMatchObject([unreached, { status: "fulfilled", value: { done: 1 } }]);
  }, 20_000);

  it("that ends on the way, because the provider cannot be reached, ends those that wait for it, too", async () => {
    addGroup("trainers", 2);
    salad.failures.push({ status: 0, to: /restart$/ });
    const [failed, next] = await Promise.allSettled([act("restart"), act("restart")]);
    expect(failed).toMatchObject({ status: "fulfilled", value: { done: 0, faults: [{}], left: 1 } });
    expect(next).toEqual({ status: "rejected", reason: fault("GROUP_UNREACHABLE") });
  });

  it("is not sent twice, and ends at a 429", async () => {
    addGroup("trainers", 3);
    salad.failures.push({ status: 500, to: /reallocate$/ });
    const broken = await act("reallocate");
    expect(broken).toMatchObject({ done: 0, faults: [{ fault: { code: "GROUP_UNREACHABLE" } }], left: 2 });
    expect(actions()).toHaveLength(1);
    salad.failures.push({ status: 429, to: /reallocate$/ });
    expect(await act("reallocate")).toMatchObject({ done: 0, faults: [{ fault: { code: "GROUP_PAUSED" } }], left: 2 });
    expect(actions()).toHaveLength(2);
  });

  it("names an instance that is gone", async () => {
    addGroup("trainers", 1);
    await expect(act("restart", { instanceIds: ["no-such-instance"] })).rejects.toEqual(fault("GROUP_UNKNOWN"));
    await expect(people().act({ accountId, group: "none", instanceIds: null, action: "restart" })).rejects.toEqual(
      fault("GROUP_UNKNOWN"),
    );
  });
});
