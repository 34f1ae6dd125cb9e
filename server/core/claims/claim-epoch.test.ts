import { afterEach, beforeEach, describe, expect, it, vi } from "vitest";
import { putObjectText } from "#storage/s3/objects.ts";
import type { Hub } from "../api/hub.ts";
import {
  addTestNode,
  addTestProfile,
  callAs,
  joinGroup,
  openTestHub,
  type TestHub,
} from "#server/testing/open-test-hub.ts";
import { fault } from "#server/testing/match-fault.ts";
import { announce, makeSafe, run } from "#server/testing/stage-checkpoint.ts";
import { keysOf } from "#server/testing/test-bucket.ts";
import { claim, node, other, profileId, store, test, pairForEach } from "#server/testing/pair-for-each.ts";

pairForEach();

/** A run that has no claim yet, and whose bucket was looked into. */
const addRun = (hub: Hub, profileId: string) =>
  hub.db.run.create({ data: { name: run, profileId, createdAt: new Date(hub.now()), highestSeen: 0 } });
const bucketKeys = (prefix: string) => keysOf(test.hub, profileId, prefix);
describe("claiming a run", () => {
  it("gives the first node epoch 1, and the same again at its restart", async () => {
    expect(await claim(node)).toEqual({ epoch: 1, parent: null, newest: null });
    expect(await claim(node)).toEqual({ epoch: 1, parent: null, newest: null });
    expect(await bucketKeys("team/epochs/")).toEqual(["team/epochs/llama/e000001.json"]);
  });

  it("lets another node take over from the newest complete checkpoint", async () => {
    await claim(node);
    await makeSafe(test.hub, node, { epoch: 1, step: 500 });
    const newest = await makeSafe(test.hub, node, { epoch: 1, step: 1000 });
    await announce(test.hub, node, { epoch: 1, step: 1500 });
    const taken = await claim(other);
    expect(taken).toMatchObject({
      epoch: 2,
      parent: { epoch: 1, step: 1000 },
      newest: { checkpointId: newest.checkpointId, writerEpoch: 1, step: 1000 },
    });
    expect(await claim(node)).toMatchObject({ epoch: 3, parent: { epoch: 1, step: 1000 } });
  });

  it("calls the highest epoch newest, not the highest step", async () => {
    await claim(node);
    await makeSafe(test.hub, node, { epoch: 1, step: 1000 });
    await claim(other);
    const rewound = await makeSafe(test.hub, other, { epoch: 2, step: 600 });
    expect((await claim(other)).newest).toMatchObject({ checkpointId: rewound.checkpointId, step: 600 });
  });

  it("goes to one of two nodes that claim at the same moment, and both know", async () => {
    const [first, second] = await Promise.all([claim(node), claim(other)]);
    expect(new Set([first.epoch, second.epoch])).toEqual(new Set([1, 2]));
    const view = await callAs(test.hub, "viewer").runs.get({ run });
    expect(view.epochs.map(({ epoch }) => epoch)).toEqual([2, 1]);
  });

  it("never gives out a number the bucket already knows", async () => {
    const { client } = await test.hub.stores.open(profileId);
    for (const number of ["000001", "000007"]) {
      await putObjectText(client, { bucket: "training", key: `team/epochs/llama/e${number}.json`, text: "{}" });
    }
    expect((await claim(node)).epoch).toBe(1_007);
  });

  it("goes on with the claim a hub wrote in the moment it was killed, for the same node only", async () => {
    const { epoch } = test.hub.db;
    await addRun(test.hub, profileId);
    const killed = vi.spyOn(test.hub.db, "$transaction").mockRejectedValueOnce(new Error("killed"));
    await expect(claim(node)).rejects.toThrow();
    killed.mockRestore();
    expect([await epoch.count(), await bucketKeys("team/epochs/")]).toEqual([0, ["team/epochs/llama/e000001.json"]]);
    expect((await claim(node)).epoch).toBe(1);
    const again = vi.spyOn(test.hub.db, "$transaction").mockRejectedValueOnce(new Error("killed"));
    await expect(claim(other)).rejects.toThrow();
    again.mockRestore();
    const third = await addTestNode(test.hub, profileId, "gpu-3");
    await joinGroup(test.hub, third);
    // Well above the second claim, which nobody else goes on with.
    expect((await claim(third)).epoch).toBeGreaterThan(1_000);
    expect((await callAs(test.hub, "viewer").runs.get({ run })).epochs).toHaveLength(3);
  });

  it("is refused to a node that is revoked while the claim is written", async () => {
    const { open } = test.hub.stores;
    test.hub.stores.open = async (id) => {
      test.hub.stores.open = open;
      await callAs(test.hub, "admin").nodes.revoke({ id: node.nodeId });
      return open(id);
    };
    await expect(claim(node)).rejects.toEqual(fault("NODE_REVOKED"));
    expect((await callAs(test.hub, "viewer").runs.get({ run })).epochs).toEqual([]);
    // The number is spent: its claim lies in the bucket.
    expect((await claim(other)).epoch).toBe(1_001);
  });

  it("goes on with the bucket's newest when its own claim lies there and the record is older", async () => {
    await claim(node);
    const { checkpointId } = await makeSafe(test.hub, node, { epoch: 1, step: 10 });
    const { checkpoint, checkpointContent, attempt, epoch } = test.hub.db;
    await checkpointContent.deleteMany();
    await checkpoint.deleteMany();
    await attempt.deleteMany();
    await epoch.deleteMany();
    expect(await claim(node)).toMatchObject({ epoch: 1, newest: { checkpointId, step: 10 } });
  });

  it("claims anew when what its own claim begins with is no longer the newest", async () => {
    await claim(other);
    await makeSafe(test.hub, other, { epoch: 1, step: 10 });
    const killed = vi.spyOn(test.hub.db, "$transaction").mockRejectedValueOnce(new Error("killed"));
    await expect(claim(node)).rejects.toThrow();
    killed.mockRestore();
    await makeSafe(test.hub, other, { epoch: 1, step: 20 });
    const taken = await claim(node);
    expect(taken).toMatchObject({ parent: { epoch: 1, step: 20 }, newest: { step: 20 } });
    expect(taken.epoch).toBeGreaterThan(1_000);
  });

  it("is refused when the run lives in another bucket", async () => {
    await claim(node);
    const elsewhere = await addTestProfile(test.hub, store.endpoint, { name: "elsewhere", prefix: "b/" });
    const stranger = await addTestNode(test.hub, elsewhere, "gpu-3");
    await expect(claim(stranger)).rejects.toEqual(fault("CONFLICT"));
  });
});

describe("a hub that knows nothing, over a bucket that does", () => {
  let fresh: TestHub;
  beforeEach(async () => {
    fresh = await openTestHub();
  });
  afterEach(() => fresh.close());

  const addProfile = () => addTestProfile(fresh.hub, store.endpoint);
  const claimThere = async (profileId: string) => {
    const { caller } = await addTestNode(fresh.hub, profileId, "gpu-1");
    return callAs(fresh.hub, caller).node.claimEpoch({ run });
  };

  it("says what is newest there, and goes on well above the numbers there", async () => {
    await claim(node);
    await makeSafe(test.hub, node, { epoch: 1, step: 50 });
    await claim(other);
    const { checkpointId } = await makeSafe(test.hub, other, { epoch: 2, step: 100 });
    const newest = { checkpointId, writerEpoch: 2, step: 100 };
    expect(await claimThere(await addProfile())).toMatchObject({
      epoch: 1_002,
      parent: { epoch: 2, step: 100 },
      newest,
    });
    const view = await callAs(fresh.hub, "viewer").runs.get({ run });
    expect(view.epochs.map(({ epoch }) => epoch)).toEqual([1_002, 2, 1]);
  });

  it("says so too when it has heard of the run, but not of its claims", async () => {
    await claim(node);
    const { checkpointId } = await makeSafe(test.hub, node, { epoch: 1, step: 100 });
    const there = await addProfile();
    await addRun(fresh.hub, there);
    expect((await claimThere(there)).newest).toMatchObject({ checkpointId, step: 100 });
  });

  it("says nothing while the bucket cannot be read, and then what is there", async () => {
    await claim(node);
    await makeSafe(test.hub, node, { epoch: 1, step: 100 });
    const there = await addProfile();
    const { client } = await fresh.hub.stores.open(there);
    const send = vi.spyOn(client, "send").mockRejectedValue(new Error("socket hang up"));
    await expect(claimThere(there)).rejects.toThrow();
    send.mockRestore();
    expect((await claimThere(there)).newest).toMatchObject({ step: 100 });
  });
});
