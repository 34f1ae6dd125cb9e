import { afterEach, beforeEach, expect, test } from "vitest";
import { Fault } from "#protocol/faults/fault.ts";
import { filePath } from "#protocol/base/names.ts";
import { makeSafe, run } from "#server/testing/stage-checkpoint.ts";
import { addTestNode, callAs } from "#server/testing/open-test-hub.ts";
import { newId } from "#server/platform/random-id.ts";
import { findOrphans } from "#server/core/retention/find-orphans.ts";
import { rebuildFrom, tools, toolsForEach } from "#server/testing/tools-for-each.ts";
import { copyTo, makeBoth, openTwoHomes } from "#server/testing/stage-homes.ts";

/** What the rest of the hub makes of copies: the janitor, a rebuild, damage. */

type Stage = Awaited<ReturnType<typeof openTwoHomes>>;
let stage: Stage;
beforeEach(async () => {
  stage = await openTwoHomes();
});
afterEach(() => stage.close());
toolsForEach();

test("the second bucket alone gives the run back, with what was pinned, and the first one adds its copies", async () => {
  const { test: t, node, epoch, near, far } = stage;
  const both = await makeBoth(stage, 10);
  const here = await makeSafe(t.hub, node, { epoch, step: 20 });
  await callAs(t.hub, "operator").checkpoints.pin({ id: both.checkpointId });
  await rebuildFrom(far, { name: "second" });
  const states = () => tools.db.checkpoint.findMany({ select: { id: true, state: true }, orderBy: { step: "asc" } });
  expect(await states()).toEqual([{ id: both.checkpointId, state: "complete" }]);
  expect(await tools.db.keepRecord.findMany({ select: { kind: true, checkpointId: true } })).toEqual([
    { kind: "pin", checkpointId: both.checkpointId },
  ]);
  expect(await tools.db.epoch.findMany({ select: { epoch: true, nodeId: true } })).toEqual([
    { epoch, nodeId: node.nodeId },
  ]);
  const found = await rebuildFrom(near);
  expect(found.refusedKeys).toEqual([]);
  expect((await states()).map(({ id }) => id)).toEqual([both.checkpointId, here.checkpointId]);
  expect(await tools.db.checkpointCopy.findMany({ select: { checkpointId: true, state: true } })).toEqual([
    { checkpointId: both.checkpointId, state: "complete" },
  ]);
  expect(await tools.db.runHome.count({ where: { run } })).toBe(2);
});

test("a run of another hub that only has the name is not taken for a copy", async () => {
  const { test: t, node, epoch, near } = stage;
  await makeSafe(t.hub, node, { epoch, step: 10 });
  const other = await openTwoHomes();
  try {
    await makeSafe(other.test.hub, other.node, { epoch: other.epoch, step: 30 });
    await rebuildFrom(near);
    const found = await rebuildFrom(other.near, { name: "theirs" });
    expect(found.refused).toBeGreaterThan(0);
    expect(await tools.db.checkpoint.count()).toBe(1);
  } finally {
    await other.close();
  }
});

test("to the janitor a copy is no leftover, and one that was given up is", async () => {
  const { test: t, second, node } = stage;
  const both = await makeBoth(stage, 10);
  const taken = await addTestNode(t.hub, second, "gpu-2");
  t.advance(60_000);
  await callAs(t.hub, taken.caller).node.claimEpoch({ run });
  t.advance(10 * 86_400_000);
  const store = await t.hub.stores.open(second);
  expect((await findOrphans(t.hub, store)).attempts).toEqual([]);
  // Without its manifest and its row it is nobody's.
  const where = { checkpointId_profileId: { checkpointId: both.checkpointId, profileId: second } };
  const { manifestKey } = await t.hub.db.checkpointCopy.update({ where, data: { state: "torn" } });
  const { deleteObject } = await import("#storage/s3/objects.ts");
  await deleteObject(store.client, { bucket: "training", key: manifestKey ?? "" });
  expect((await findOrphans(t.hub, store)).attempts).toHaveLength(1);
  expect(node.nodeId).not.toBe(taken.nodeId);
});

test("when the first copy is found damaged a sound one takes its place, and the checkpoint counts as sound", async () => {
  const { test: t, node, epoch, first, second } = stage;
  const staged = await makeBoth(stage, 10);
  const alone = await makeSafe(t.hub, node, { epoch, step: 20 });
  const fault = new Fault("CHECKSUM_MISMATCH").toData();
  const damage = { ranges: [{ path: filePath.parse("model.safetensors"), from: 0, to: 1, fault }], more: 0 };
  const ended = (checkpointId: string, step: number, seq: number) => ({
    seq,
    at: t.hub.now(),
    type: "transfer-ended" as const,
    transferId: newId(),
    direction: "verify" as const,
    state: "failed" as const,
    checkpointId,
    run,
    step,
    bytes: 1,
    files: 1,
    sentBytes: 1,
    startedAt: t.hub.now(),
    retries: 0,
    connections: 1,
    startedBy: "operator" as const,
    fault: null,
    damage,
  });
  const events = [ended(staged.checkpointId, 10, 1), ended(alone.checkpointId, 20, 2)];
  await callAs(t.hub, node.caller).node.record({ events });
  const view = await callAs(t.hub, "viewer").checkpoints.get({ id: staged.checkpointId });
  expect(view.damage).toBeNull();
  expect(view.copies.map(({ profileId, damagedAt }) => ({ profileId, isDamaged: damagedAt !== null }))).toEqual([
    { profileId: second, isDamaged: false },
    { profileId: first, isDamaged: true },
  ]);
  // Whoever reads it without a word about homes reads the sound one.
  const read = await callAs(t.hub, node.caller).node.readCheckpoint({ checkpointId: staged.checkpointId });
  expect(read.manifest.homes).toMatchObject([{ profileId: second }]);
  const other = await callAs(t.hub, "viewer").checkpoints.get({ id: alone.checkpointId });
  expect(other.damage).not.toBeNull();
});

test("what was being copied when a newer one begins is given up", async () => {
  const { test: t, node, epoch, second } = stage;
  const old = await makeSafe(t.hub, node, { epoch, step: 10 });
  const attempt = "abcdefghijklmnop";
  const request = { checkpointId: old.checkpointId, profileId: second, attempt };
  expect(await callAs(t.hub, node.caller).node.beginCopy(request)).toEqual({ isWanted: true });
  expect(await callAs(t.hub, node.caller).node.beginCopy(request)).toEqual({ isWanted: true });
  const staged = await makeSafe(t.hub, node, { epoch, step: 20 });
  await copyTo(t.hub, node, { staged, profileId: second });
  const rows = await t.hub.db.checkpointCopy.findMany({ select: { checkpointId: true, state: true } });
  expect(new Map(rows.map((row) => [row.checkpointId, row.state]))).toEqual(
    new Map([
      [old.checkpointId, "torn"],
      [staged.checkpointId, "complete"],
    ]),
  );
});
