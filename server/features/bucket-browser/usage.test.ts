import { PutBucketVersioningCommand } from "@aws-sdk/client-s3";
import { afterEach, beforeEach, describe, expect, it } from "vitest";
import { runName } from "#protocol/base/names.ts";
import type { NodeEvent } from "#protocol/wire/reports.ts";
import { makeSafe, run } from "#server/testing/stage-checkpoint.ts";
import { addTestNode, callAs, type TestHub, type TestNode, type TestStore } from "#server/testing/open-test-hub.ts";
import { estimateMonth } from "./estimate-month.ts";
import { openBucketStage } from "#server/testing/stage-bucket.ts";

const GB = 1e9;
const DAY_MS = 86_400_000;

describe("what lies in a bucket", () => {
  let store: TestStore;
  let test: TestHub;
  let profileId: string;
  let node: TestNode;
  beforeEach(async () => {
    ({ store, test, profileId } = await openBucketStage(["--control", "control"]));
    node = await addTestNode(test.hub, profileId, "gpu-1");
  });
  afterEach(async () => {
    await test.close();
    await store.close();
  });

  const usage = () => callAs(test.hub, "viewer").bucket.usage({ profileId });
  const ended = (seq: number, changes: Partial<Extract<NodeEvent, { type: "transfer-ended" }>>) => ({
    type: "transfer-ended" as const,
    seq,
    at: test.hub.now(),
    transferId: `transfer-000${seq}`,
    direction: "upload" as const,
    state: "cancelled" as const,
    checkpointId: `checkpoint-000${seq}`,
    run: runName.parse("mistral"),
    step: 5,
    bytes: 900,
    files: 1,
    sentBytes: 900,
    startedAt: test.hub.now(),
    retries: 0,
    connections: 1,
    startedBy: "queue" as const,
    fault: null,
    ...changes,
  });

  it("is told with whether the bucket keeps deleted objects as old versions, which the numbers lack", async () => {
    const ask = () => callAs(test.hub, "viewer").bucket.keepsVersions({ profileId });
    expect(await ask()).toEqual({ keepsVersions: false });
    const { client, access } = await test.hub.stores.open(profileId);
    const VersioningConfiguration = { Status: "Enabled" } as const;
    await client.send(new PutBucketVersioningCommand({ Bucket: access.bucket, VersioningConfiguration }));
    expect(await ask()).toEqual({ keepsVersions: true });
  });

  it("is known by run from the manifests, what is in the trash with the rest, and nothing of it is asked of the store", async () => {
    const { epoch } = await callAs(test.hub, node.caller).node.claimEpoch({ run });
    const files = [
      { path: "model.safetensors", text: "weights" },
      { path: "config.json", text: "{}" },
    ];
    const older = await makeSafe(test.hub, node, { epoch, step: 1, files });
    await makeSafe(test.hub, node, { epoch, step: 2, files });
    const rows = await test.hub.db.checkpoint.findMany({ include: { content: true } });
    const bytes = rows.reduce((sum, row) => sum + Buffer.byteLength(row.content?.manifest ?? "") + 9, 0);
    await test.hub.db.checkpoint.update({ where: { id: older.checkpointId }, data: { state: "trashed" } });
    const asked = async () => {
      const headers = { authorization: "Bearer control" };
      return (await fetch(`${store.endpoint}/_control/counters`, { headers })).text();
    };
    await test.hub.keyUses.flush();
    const before = await asked();
    const found = await usage();
    expect(await asked()).toBe(before);
    expect(found.runs).toEqual([{ run, checkpoints: 2, trashed: 1, objects: 6, bytes, newestAt: expect.any(Number) }]);
    expect(found.stored).toEqual({ bytes, objects: 6, checkpoints: 2, trashedBytes: expect.any(Number) });
    expect(found.stored.trashedBytes).toBeGreaterThan(bytes / 3);
    expect(found.stored.trashedBytes).toBeLessThan(bytes);
    const today = found.days.at(-1);
    expect(today).toMatchObject({ checkpoints: 2, keptBytes: bytes });
    expect(found.days).toHaveLength(30);
    expect(found.moved.writes).toBe(4);
  });

  it("grew by what came, day by day, also by what did not stay", async () => {
    await callAs(test.hub, node.caller).node.record({ events: [ended(1, {})] });
    test.advance(DAY_MS);
    const more = [ended(2, { sentBytes: 100 }), ended(3, { direction: "download", sentBytes: 5_000 })];
    await callAs(test.hub, node.caller).node.record({ events: more });
    const { days, moved, stored } = await usage();
    expect(days.slice(-2).map(({ cameBytes, keptBytes }) => [cameBytes, keptBytes])).toEqual([
      [900, 0],
      [100, 0],
    ]);
    expect(moved).toMatchObject({ days: 2, upBytes: 1_000, downBytes: 5_000 });
    expect(stored.bytes).toBe(0);
  });
});

describe("what a month costs", () => {
  const month = { storedBytes: 1_000 * GB, downBytes: 500 * GB, writes: 1_000_000, reads: 10_000_000 };
  const own = (prices: object) => ({ provider: "aws", prices: JSON.stringify(prices) });

  it("is taken from the provider's list, less what leaves for nothing", () => {
    const cost = estimateMonth({ provider: "aws", prices: null }, month);
    expect(cost).toMatchObject({ currency: "USD", hasOwnPrices: false, freeDownBytes: 100 * GB });
    expect(cost?.storage).toBeCloseTo(23);
    expect(cost?.egress).toBeCloseTo(36);
    expect(cost?.requests).toBeCloseTo(9);
    expect(cost?.total).toBeCloseTo(68);
  });

  it("lets three times what is stored leave for nothing where the list says so", () => {
    expect(estimateMonth({ provider: "b2", prices: null }, month)).toMatchObject({
      egress: 0,
      freeDownBytes: 500 * GB,
    });
    const more = estimateMonth({ provider: "b2", prices: null }, { ...month, downBytes: 4_000 * GB });
    expect(more?.egress).toBeCloseTo(10);
  });

  it("goes by the profile's own prices, of which nothing is taken off", () => {
    const cost = estimateMonth(own({ egressPerGb: 0.02, storagePerGbMonth: 0.01, per1000Requests: 0.001 }), month);
    expect(cost).toMatchObject({ hasOwnPrices: true, freeDownBytes: 0 });
    expect(cost?.storage).toBeCloseTo(10);
    expect(cost?.egress).toBeCloseTo(10);
    expect(cost?.requests).toBeCloseTo(11);
  });

  it("is not guessed for a store without a price, and said once it has one", () => {
    expect(estimateMonth({ provider: "minio", prices: null }, month)).toBeNull();
    const priced = own({ egressPerGb: null, storagePerGbMonth: 0.005, per1000Requests: null });
    expect(estimateMonth({ ...priced, provider: "minio" }, month)).toMatchObject({ storage: 5, egress: 0, total: 5 });
  });
});
