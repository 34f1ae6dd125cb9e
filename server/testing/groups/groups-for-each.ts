import { afterEach, beforeEach } from "vitest";
import { runName } from "#protocol/base/names.ts";
import { newId } from "#server/platform/random-id.ts";
import {
  addTestNode,
  addTestProfile,
  callAs,
  openTestHub,
  report,
  type TestHub,
  type TestNode,
} from "../open-test-hub.ts";
import {
  startSaladEmulator,
  type EmulatedGroup,
  type EmulatedInstance,
  type SaladEmulator,
} from "#storage/testing/salad-emulator.ts";

/** For tests of groups: an emulated SaladCloud, and for every test a hub with one account there. */
export let test: TestHub;
export let salad: SaladEmulator;
export let accountId: string;
let profileId: string;

export function groupsForEach(): void {
  beforeEach(async () => {
    salad = await startSaladEmulator();
    test = await openTestHub({ saladApi: new URL(salad.url) });
    profileId = await addTestProfile(test.hub, "http://127.0.0.1:9");
    accountId = await addAccount();
  });
  afterEach(async () => {
    await test.close();
    await salad.close();
  });
}

export const people = () => callAs(test.hub, "admin").groups;

export async function addAccount(name = "main", changes: Partial<{ key: string; project: string }> = {}) {
  const { organization, project, key } = { ...salad, ...changes };
  const account = { name, organization, project } as Parameters<
    ReturnType<typeof people>["accounts"]["create"]
  >[0]["account"];
  const { id } = await people().accounts.create({ account, key });
  // The hub's own rounds would meet what a test prepares for a call.
  test.hub.groups.roundAt.set(id, Infinity);
  return id;
}

/** Adds a group with this many instances that run. */
export function addGroup(name: string, instances: number, about: Partial<EmulatedGroup> = {}): EmulatedGroup {
  const group = salad.addGroup(name, { replicas: instances, ...about });
  for (let count = 0; count < instances; count++) salad.addInstance(group);
  return group;
}

/** Enrolls a node on the machine of an instance. */
export async function nodeOn(group: EmulatedGroup, instance: EmulatedInstance, name: string): Promise<TestNode> {
  const node = await addTestNode(test.hub, profileId, name);
  const identity = `salad:organization/${group.id}/${instance.machine_id}`;
  await test.hub.db.node.update({ where: { id: node.nodeId }, data: { identity } });
  Object.assign(test.hub.live.nodes.get(node.nodeId) ?? {}, { identity });
  return node;
}

/** Makes a node report a run of which this much is not safe. */
export async function tellUnsafe(node: TestNode, unsafe: { checkpoints: number; lossMs: number }): Promise<void> {
  const now = test.hub.now();
  const run = {
    run: runName.parse("run-1"),
    writerEpoch: 1,
    unsafeCheckpoints: unsafe.checkpoints,
    unsafeFiles: unsafe.checkpoints,
    unsafeBytes: unsafe.checkpoints * 1_000,
    movedBytes: 0,
    oldestUnsafeAt: unsafe.checkpoints === 0 ? null : now,
    safeStep: 1,
    safeAt: now - unsafe.lossMs,
    safeBytes: 1,
    localStep: 1,
    localAt: now - unsafe.lossMs,
    startedAt: now - unsafe.lossMs - 1_000,
    intervalMs: null,
    ...(unsafe.lossMs > 0 ? { trainedAt: now } : { idleMs: 60_000 }),
  };
  await callAs(test.hub, node.caller).node.progress({ ...report(test.hub), at: now, runs: [run] });
}

/** Adds a job; with a node or a machine it is leased there. */
export async function addJob(queue: string, at: { nodeId?: string; machine?: string } | "waiting"): Promise<void> {
  const id = newId();
  const now = new Date(test.hub.now());
  const isLeased = at !== "waiting";
  await test.hub.db.job.create({
    data: {
      id,
      queue,
      name: id,
      run: id,
      state: isLeased ? "running" : "waiting",
      priority: 0,
      rank: 0,
      dueAt: now,
      ownerId: "id-operator",
      owner: "operator@example.com",
      mostFailures: 3,
      createdAt: now,
      spec: "{}",
      ...(isLeased && {
        attempts: 1,
        attemptRows: {
          create: { attempt: 1, bootId: "", startedAt: now, nodeId: at.nodeId ?? null, machine: at.machine ?? null },
        },
        // The clock of the hub ends what sends no heartbeat.
        ...(at.machine !== undefined && { kelpie: { create: { heartbeatSeconds: 3_600, storage: "{}" } } }),
      }),
    },
  });
}

export async function endJobs(queue: string): Promise<void> {
  const now = new Date(test.hub.now());
  const where = { queue, state: { in: ["running", "waiting"] } };
  await test.hub.db.jobAttempt.updateMany({ where: { job: where }, data: { endedAt: now } });
  await test.hub.db.job.updateMany({ where, data: { state: "done", endedAt: now } });
}
