import { expect, it } from "vitest";
import { makeRunBacklog } from "#protocol/testing/make-run-backlog.ts";
import { claim, node, other, pairForEach, test } from "#server/testing/pair-for-each.ts";
import { makeSafe, run } from "#server/testing/stage-checkpoint.ts";
import { fault } from "#server/testing/match-fault.ts";
import { callAs, NOBODY, report } from "#server/testing/open-test-hub.ts";

pairForEach();

/** Makes a checkpoint safe that lay at this path below the watched folder. */
async function saved(step: number, path: string, capturedAt: number): Promise<void> {
  const { checkpointId } = await makeSafe(test.hub, node, { epoch: 1, step });
  const place = JSON.stringify({ path, kind: "file" });
  await test.hub.db.checkpoint.update({
    where: { id: checkpointId },
    data: { place, capturedAt: new Date(capturedAt) },
  });
}

const lines = (of = node) => callAs(test.hub, "viewer").nodes.lines({ id: of.nodeId });

it("tells where a node wrote its newest checkpoint of a run, and in how many other folders it wrote before", async () => {
  await claim(node);
  const backlog = makeRunBacklog({ run, writerEpoch: 1 });
  await callAs(test.hub, node.caller).node.progress({ ...report(test.hub), runs: [backlog] });
  expect(await lines()).toEqual([]);
  await saved(300, "version_0/checkpoints/epoch=0-step=300.ckpt", 1_000);
  expect(await lines()).toEqual([
    {
      run,
      folder: "version_0/checkpoints",
      others: 0,
      doubtfulStep: null,
      isFinalDoubtful: false,
      passedOverStep: null,
    },
  ]);
  await saved(20, "version_1/checkpoints/<b>.ckpt", 2_000);
  expect(await lines()).toEqual([
    {
      run,
      folder: "version_1/checkpoints",
      others: 1,
      doubtfulStep: null,
      isFinalDoubtful: false,
      passedOverStep: null,
    },
  ]);
  expect(await lines(other)).toEqual([]);
});

it("names a doubtful checkpoint that is later than the newest whole one, and no earlier one", async () => {
  await claim(node);
  const backlog = makeRunBacklog({ run, writerEpoch: 1 });
  await callAs(test.hub, node.caller).node.progress({ ...report(test.hub), runs: [backlog] });
  const { checkpointId } = await makeSafe(test.hub, node, { epoch: 1, step: 10 });
  await test.hub.db.checkpoint.update({ where: { id: checkpointId }, data: { doubt: "a shard is missing" } });
  expect(await lines()).toEqual([
    { run, folder: "", others: 0, doubtfulStep: 10, isFinalDoubtful: false, passedOverStep: null },
  ]);
  const given = { epoch: 1, step: 30 };
  const told = { given, fromStep: null, path: "/w/ckpt_30.pt", at: test.hub.now() };
  const where = { run_epoch: { run, epoch: 1 } };
  await test.hub.db.epoch.update({ where, data: { passedOver: JSON.stringify(told) } });
  expect(await lines()).toMatchObject([{ run, passedOverStep: 30 }]);
  await test.hub.db.epoch.update({ where, data: { passedOver: null } });
  await saved(20, "new/ckpt_20.pt", 2_000);
  expect(await lines()).toEqual([
    { run, folder: "new", others: 0, doubtfulStep: null, isFinalDoubtful: false, passedOverStep: null },
  ]);
});

it("names a doubtful final model until a later one is whole, whatever checkpoints are there", async () => {
  await claim(node);
  const backlog = makeRunBacklog({ run, writerEpoch: 1 });
  await callAs(test.hub, node.caller).node.progress({ ...report(test.hub), runs: [backlog] });
  const put = async (step: number, data: { role?: string; doubt?: string; capturedAt: number }) => {
    const { checkpointId } = await makeSafe(test.hub, node, { epoch: 1, step });
    const change = { ...data, capturedAt: new Date(data.capturedAt) };
    await test.hub.db.checkpoint.update({ where: { id: checkpointId }, data: change });
  };
  const told = () => callAs(test.hub, node.caller).node.restorePoints({ runs: [run] });
  await put(10, { role: "final-model", capturedAt: 1_000 });
  await put(10, { role: "final-model", doubt: "a shard is missing", capturedAt: 2_000 });
  await put(10, { capturedAt: 3_000 });
  expect(await lines()).toEqual([
    { run, folder: "", others: 0, doubtfulStep: null, isFinalDoubtful: true, passedOverStep: null },
  ]);
  expect(await told()).toMatchObject([
    { newest: { step: 10 }, doubtful: [{ step: 10, why: "a shard is missing", role: "final-model" }] },
  ]);
  await put(10, { role: "final-model", capturedAt: 4_000 });
  expect(await lines()).toEqual([]);
  expect(await told()).toEqual([{ run, newest: { step: 10, isDamaged: false }, trashedStep: null }]);
});

it("looks at the newest checkpoints of a run, however many there are", async () => {
  await claim(node);
  const backlog = makeRunBacklog({ run, writerEpoch: 1 });
  await callAs(test.hub, node.caller).node.progress({ ...report(test.hub), runs: [backlog] });
  await saved(1, "old/ckpt_1.pt", 1_000);
  const row = await test.hub.db.checkpoint.findFirstOrThrow({ where: { run } });
  const many = Array.from({ length: 40 }, (_, index) => ({
    ...row,
    id: `later-${index}`,
    attempt: `attempt-${index}`,
    step: BigInt(10 + index),
    place: JSON.stringify({ path: `new/ckpt_${10 + index}.pt`, kind: "file" }),
    capturedAt: new Date(2_000 + index),
  }));
  await test.hub.db.checkpoint.createMany({ data: many });
  expect(await lines()).toEqual([
    { run, folder: "new", others: 0, doubtfulStep: null, isFinalDoubtful: false, passedOverStep: null },
  ]);
});

it("passes over a place that cannot be read", async () => {
  await claim(node);
  const backlog = makeRunBacklog({ run, writerEpoch: 1 });
  await callAs(test.hub, node.caller).node.progress({ ...report(test.hub), runs: [backlog] });
  await saved(1, "ckpt_1.pt", 1_000);
  expect(await lines()).toHaveLength(1);
  await test.hub.db.checkpoint.updateMany({ where: { run }, data: { place: "{" } });
  expect(await lines()).toEqual([]);
});

it("tells nothing of a node that is not known, and nothing to a caller who is nobody", async () => {
  await expect(callAs(test.hub, "viewer").nodes.lines({ id: "node-nobody" })).rejects.toEqual(fault("NOT_FOUND"));
  await expect(callAs(test.hub, NOBODY).nodes.lines({ id: node.nodeId })).rejects.toEqual(fault("NOT_SIGNED_IN"));
});
