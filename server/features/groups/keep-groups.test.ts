import { describe, expect, it } from "vitest";
import { markSilentNodes } from "#server/http/tick.ts";
import { callAs } from "#server/testing/open-test-hub.ts";
import {
  accountId,
  addAccount,
  addGroup,
  addJob,
  endJobs,
  groupsForEach,
  nodeOn,
  people,
  salad,
  tellUnsafe,
  test,
} from "#server/testing/groups/groups-for-each.ts";
import type { EmulatedGroup, EmulatedInstance } from "#storage/testing/salad-emulator.ts";
import { keepGroups } from "./keep-groups.ts";

/** The rules of groups as the clock applies them, against an emulated provider. */

groupsForEach();

const MINUTE_MS = 60_000;
const limits = { min: 0, max: 10, idleMs: 0, cooldownMs: 10 * MINUTE_MS };

async function setRule(changes: object = {}, group = "trainers"): Promise<void> {
  await people().setRule({ accountId, group, queue: "default", limits, ...changes });
  test.hub.groups.roundAt.set(accountId, Infinity);
}
const round = () => keepGroups(test.hub, true);
const ruleOf = (group = "trainers") => test.hub.db.groupRule.findFirstOrThrow({ where: { groupName: group } });
const changes = () => salad.requests.filter((one) => !one.startsWith("GET"));
const clear = () => void salad.requests.splice(0);
const events = async (kind: string) =>
  (await test.hub.db.event.findMany({ where: { kind }, orderBy: { id: "asc" } })).map(({ text }) => text);
function firstOf(group: EmulatedGroup): EmulatedInstance {
  const [instance] = group.instances;
  if (instance === undefined) throw new Error("the group has no instance");
  return instance;
}

describe("a rule", () => {
  it("starts a stopped group with the jobs that wait, grows at once, shrinks after the cooldown, and stops", async () => {
    const group = addGroup("trainers", 0, { status: "stopped", replicas: 7 });
    await setRule();
    await round();
    expect(changes()).toEqual([]);
    expect(await ruleOf()).toMatchObject({ action: "keep", reason: "Stays stopped: no job waits or runs." });
    await addJob("default", "waiting");
    await addJob("default", "waiting");
    await addJob("another", "waiting");
    await round();
    // The number before the start: it had seven, and starts with two.
    expect(changes()).toEqual(["PATCH containers/trainers", "POST containers/trainers/start"]);
    expect(group).toMatchObject({ status: "running", replicas: 2 });
    await addJob("default", "waiting");
    await round();
    expect(group.replicas).toBe(3);
    await endJobs("default");
    clear();
    await round();
    test.advance(9 * MINUTE_MS);
    await round();
    expect(changes()).toEqual([]);
    expect((await ruleOf()).reason).toMatch(/^Keeps 3 for another .* although 0 would do: no job waits or runs\.$/);
    test.advance(2 * MINUTE_MS);
    await round();
    expect(changes()).toEqual(["POST containers/trainers/stop"]);
    expect(group.status).toBe("stopped");
    expect(await events("group-scaled")).toEqual([
      "Group main/trainers: Started with 2: 2 jobs wait and 0 run.",
      "Group main/trainers: Grew from 2 to 3: 3 jobs wait and 0 run.",
      "Group main/trainers: Stopped: no job waits or runs.",
    ]);
    clear();
    await round();
    expect(changes()).toEqual([]);
  });

  it("never stops a group while something on it is not safe, and stops it once it is", async () => {
    const group = addGroup("trainers", 2);
    const node = await nodeOn(group, firstOf(group), "gpu-1");
    await tellUnsafe(node, { checkpoints: 1, lossMs: 0 });
    await setRule({ limits: { ...limits, cooldownMs: 0 } });
    await round();
    expect(group).toMatchObject({ status: "running", replicas: 1 });
    // The instance that stays is the one with the checkpoint: its cost was told before.
    expect(group.instances.map(({ deletion_cost: cost }) => cost)).toEqual([5_000]);
    // Also while the node is silent, for its upload may go on when its network is back.
    test.advance(MINUTE_MS);
    await markSilentNodes(test.hub);
    await round();
    expect(group.status).toBe("running");
    expect((await ruleOf()).reason).toBe("Keeps 1: 1 instance has something that is not safe.");
    await tellUnsafe(node, { checkpoints: 0, lossMs: 0 });
    await round();
    expect(group.status).toBe("stopped");
  });

  it("counts leases and not dead nodes, and keeps the instances of leases", async () => {
    const group = addGroup("trainers", 4);
    const node = await nodeOn(group, firstOf(group), "gpu-1");
    await nodeOn(group, { ...firstOf(group), machine_id: "gone-machine" }, "gpu-2");
    test.advance(MINUTE_MS);
    await markSilentNodes(test.hub);
    // The one with the lease reports again; the other one is dead.
    await tellUnsafe(node, { checkpoints: 0, lossMs: 0 });
    await addJob("default", { nodeId: node.nodeId });
    await setRule({ limits: { ...limits, cooldownMs: 0 } });
    await round();
    expect(group.replicas).toBe(1);
    expect(firstOf(group).deletion_cost).toBe(1_000);
    expect((await ruleOf()).reason).toBe("Shrank from 4 to 1: 0 jobs wait and 1 runs.");
  });

  it("keeps instances that work for another queue", async () => {
    const group = addGroup("trainers", 3);
    const node = await nodeOn(group, firstOf(group), "gpu-1");
    await addJob("another", { nodeId: node.nodeId });
    await setRule({ limits: { ...limits, max: 0, cooldownMs: 0 } });
    await round();
    expect(group).toMatchObject({ status: "running", replicas: 1 });
  });

  it("does not shrink before the costs of all instances are told", async () => {
    const group = addGroup("trainers", 2);
    const node = await nodeOn(group, firstOf(group), "gpu-1");
    await tellUnsafe(node, { checkpoints: 1, lossMs: 0 });
    await setRule({ limits: { ...limits, cooldownMs: 0 } });
    salad.failures.push({ status: 400, to: /instances\/.+/ });
    await round();
    expect(group.replicas).toBe(2);
    expect(await ruleOf()).toMatchObject({ fault: expect.stringContaining("deletion costs") as string });
    await round();
    expect(group.replicas).toBe(1);
    expect(group.instances.map(({ deletion_cost: cost }) => cost)).toEqual([5_000]);
  });

  it("tells a cost once, and that nothing is at stake any more", async () => {
    const group = addGroup("trainers", 1);
    const node = await nodeOn(group, firstOf(group), "gpu-1");
    await tellUnsafe(node, { checkpoints: 1, lossMs: 0 });
    await setRule({ limits: { ...limits, min: 1 } });
    await round();
    await round();
    expect(changes()).toHaveLength(1);
    await tellUnsafe(node, { checkpoints: 0, lossMs: 0 });
    await round();
    await round();
    expect(changes()).toHaveLength(2);
    expect(firstOf(group).deletion_cost).toBe(0);
  });

  it("grows no further than the quota of the account", async () => {
    const group = addGroup("trainers", 2);
    for (let count = 0; count < 6; count++) await addJob("default", "waiting");
    Object.assign(salad.quotas, { container_replicas_quota: 10, container_replicas_used: 8 });
    await setRule();
    await round();
    expect(group.replicas).toBe(4);
    expect((await ruleOf()).reason).toBe(
      "Grew from 2 to 4: the quota of the account leaves 4 of the 6 that are wanted.",
    );
    salad.quotas["container_replicas_used"] = 10;
    await round();
    expect(group.replicas).toBe(4);
    expect((await ruleOf()).reason).toContain("Keeps 4: the quota");
  });

  it("that is off changes nothing", async () => {
    addGroup("trainers", 0, { status: "stopped" });
    await addJob("default", "waiting");
    await setRule({ isEnabled: false });
    await round();
    expect(changes()).toEqual([]);
  });

  it("of a group that is gone stays, is told once, and goes on when the group is back", async () => {
    const group = addGroup("trainers", 0, { status: "stopped" });
    await setRule();
    salad.groups.splice(0);
    await round();
    await round();
    const rule = await ruleOf();
    expect(rule.goneAt).not.toBeNull();
    expect(await events("group-failed")).toEqual([
      "Group main/trainers is gone: its rule waits until the provider lists it again",
    ]);
    const { groups } = await people().list({ accountId });
    expect(groups).toMatchObject([{ name: "trainers", isKnown: false, rule: { fault: { code: "GROUP_UNKNOWN" } } }]);
    salad.groups.push(group);
    await addJob("default", "waiting");
    await round();
    expect(group.status).toBe("running");
    expect(await ruleOf()).toMatchObject({ goneAt: null, fault: null });
  });
});

describe("a fault", () => {
  it("of one group or one account never stops the others", async () => {
    const group = addGroup("trainers", 0, { status: "stopped" });
    addGroup("broken", 1);
    const bad = await addAccount("bad", { key: "refused-key" });
    await people().setRule({ accountId: bad, group: "trainers", queue: "default", limits });
    await setRule({}, "broken");
    await setRule();
    await addJob("default", "waiting");
    salad.failures.push({ status: 400, to: /broken\/instances$/ });
    await round();
    await round();
    expect(group.status).toBe("running");
    const rules = await test.hub.db.groupRule.findMany({ where: { accountId: bad } });
    expect(rules[0]?.fault).toContain("GROUP_KEY_REFUSED");
    // Each was told once.
    expect((await events("group-failed")).toSorted()).toEqual([
      "Group bad/trainers could not be scaled",
      "Group main/broken could not be scaled",
    ]);
  });

  it("with a 429 ends the round of its account alone, and nothing is asked before the pause is over", async () => {
    addGroup("trainers", 0, { status: "stopped" });
    await setRule();
    await addJob("default", "waiting");
    salad.failures.push({ status: 429, headers: { "retry-after": "60" }, to: /containers$/ });
    await round();
    await round();
    expect(salad.requests).toEqual(["GET containers"]);
    expect(await events("group-failed")).toEqual([]);
    test.advance(MINUTE_MS + 1);
    await round();
    expect(changes()).toHaveLength(2);
  });
});

describe("the price of a node", () => {
  const gpuClasses = [{ id: "gpu-a", name: "RTX 4090", prices: [{ priority: "medium", price: "0.24" }] }];

  it("is that of its GPU class for the runs that it writes, unless a person typed one", async () => {
    salad.gpuClasses = gpuClasses;
    const group = addGroup("trainers", 2, { gpuClasses: ["gpu-a"] });
    const node = await nodeOn(group, firstOf(group), "gpu-1");
    const { db, live } = test.hub;
    const { profileId } = await db.node.findUniqueOrThrow({ where: { id: node.nodeId } });
    for (const run of ["run-1", "run-2", "run-3"]) {
      await db.run.create({ data: { name: run, profileId, createdAt: new Date() } });
      live.writers.set(run, { nodeId: run === "run-3" ? "another-node" : node.nodeId, epoch: 1 });
    }
    const losses = callAs(test.hub, "operator").losses;
    await losses.setPrice({ run: "run-2", price: { perHour: 5, currency: "EUR" } });
    await round();
    const priceOf = async (run: string) => (await losses.summary({ run })).price;
    expect(await priceOf("run-1")).toMatchObject({ perHour: 0.24, currency: "USD" });
    expect(await priceOf("run-2")).toMatchObject({ perHour: 5, currency: "EUR" });
    expect(await priceOf("run-3")).toBeNull();
    await losses.setPrice({ run: "run-1", price: { perHour: 1, currency: "USD" } });
    await round();
    expect(await priceOf("run-1")).toMatchObject({ perHour: 1 });
  });
});
