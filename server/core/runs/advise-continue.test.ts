import { expect, it } from "vitest";
import { makeRunBacklog } from "#protocol/testing/make-run-backlog.ts";
import { runName } from "#protocol/base/names.ts";
import { ADOPTED_EPOCH } from "#protocol/checkpoint/adopted.ts";
import { doubtOfPiece } from "#protocol/checkpoint/pieces.ts";
import type { RunBacklog } from "#protocol/wire/reports.ts";
import { countQueries } from "#server/testing/count-queries.ts";
import { addTestWriter, callAs, report, type TestNode } from "#server/testing/open-test-hub.ts";
import { claim, node, other, pairForEach, test } from "#server/testing/pair-for-each.ts";
import { announce, makeSafe, manifestOf, run, upload } from "#server/testing/stage-checkpoint.ts";
import { newId } from "#server/platform/random-id.ts";
import { adviseContinue } from "./advise-continue.ts";

pairForEach();

/** The last report of the node. By default it believes that step 300 is safe, and nothing waits. */
const say = (runs: Partial<RunBacklog>[] = [{}], who: TestNode = node) =>
  callAs(test.hub, who.caller).node.progress({
    ...report(test.hub),
    runs: runs.map((changes) => makeRunBacklog({ safeStep: 300, localStep: 300, localAt: 1, ...changes })),
  });
const advised = (id = node.nodeId) => callAs(test.hub, "viewer").nodes.continueFrom({ id });
const change = (step: number, data: Parameters<typeof test.hub.db.checkpoint.updateMany>[0]["data"]) =>
  test.hub.db.checkpoint.updateMany({ where: { run, step: BigInt(step) }, data });

async function twoSteps(): Promise<void> {
  await claim(node);
  for (const step of [200, 300]) await makeSafe(test.hub, node, { epoch: 1, step });
  await say();
}
/** The run page, the node page and the node itself are told the same step. */
async function expectNewest(step: number | null): Promise<void> {
  expect((await advised()).runs[0]?.newest?.step ?? null).toBe(step);
  expect((await callAs(test.hub, "viewer").runs.get({ run })).newestStep).toBe(step);
  const [told] = await callAs(test.hub, node.caller).node.restorePoints({ runs: [run] });
  expect(told?.newest?.step ?? null).toBe(step);
}

it("advises the step before one in the trash, though the node believes in that one", async () => {
  await twoSteps();
  expect((await advised()).text).toBe("llama can go on from step 300 on another node.");
  await change(300, { state: "trashed" });
  await expectNewest(200);
  expect((await advised()).text).toBe("llama can go on from step 200 on another node.");
});

it("says which step can be brought back where all are in the trash", async () => {
  await twoSteps();
  for (const step of [200, 300]) await change(step, { state: "trashed" });
  await expectNewest(null);
  expect((await advised()).runs).toMatchObject([{ newest: null, trashedStep: 300 }]);
});

it("advises the step before a damaged one, and says so where all are damaged", async () => {
  await twoSteps();
  await change(300, { damagedAt: new Date(1) });
  await expectNewest(200);
  await change(200, { damagedAt: new Date(1) });
  await expectNewest(300);
  expect((await advised()).text).toContain("only damaged checkpoints, the newest at step 300");
});

it("passes over doubtful and abandoned steps, and over final models", async () => {
  for (const odd of [{ doubt: "a file is missing" }, { abandonedAt: new Date(1) }, { role: "final-model" }]) {
    await test.hub.db.checkpoint.deleteMany();
    await twoSteps();
    await change(300, odd);
    await expectNewest(200);
  }
});

it("does not advise the piece of one node of a step of which another node's piece is missing", async () => {
  const group = (rank: number) => ({ run, group: { rank, of: 2, start: newId() } });
  await callAs(test.hub, node.caller).node.claimEpoch(group(0));
  await callAs(test.hub, other.caller).node.claimEpoch(group(1));
  const commit = async (who: TestNode, at: { rank: number; step: number }) => {
    const { rank, step } = at;
    const staged = await announce(test.hub, who, { epoch: 1, step, files: [{ path: `rank-${rank}`, text: "w" }] });
    const etags = await upload(test.hub, who, staged);
    const piece = { rank, of: 2 };
    const manifest = { ...manifestOf(test.hub, who, { staged, etags }), piece, doubt: doubtOfPiece(piece) };
    await callAs(test.hub, who.caller).node.commit({ manifest });
  };
  await commit(node, { rank: 0, step: 200 });
  await say();
  await say([{}], other);
  await expectNewest(null);
  await commit(other, { rank: 1, step: 200 });
  await commit(node, { rank: 0, step: 300 });
  await expectNewest(200);
  // The piece of step 300 is in the bucket and not safe. The other node's is on its disk alone.
  const unsafe = { safeStep: 200, localStep: 300, unsafeCheckpoints: 1, unsafeBytes: 1024 };
  await say([unsafe]);
  expect((await advised()).runs).toMatchObject([{ newest: { step: 200 }, onDisk: null }]);
  await say([unsafe], other);
  expect((await advised(other.nodeId)).runs).toMatchObject([{ onDisk: { step: 300 } }]);
  expect(await callAs(test.hub, node.caller).node.restorePoints({ runs: [run] })).toMatchObject([
    {
      newest: { step: 200 },
      openPieces: [{ step: 300, why: expect.stringMatching(/^the piece of node 1 .*is missing$/) }],
    },
  ]);
  await say([{}], other);
  expect((await advised(other.nodeId)).runs).toMatchObject([{ newest: { step: 200, isDamaged: false } }]);
});

it("says that a run of which nothing is complete starts from 0, and what the disk of its node has", async () => {
  await claim(node);
  await announce(test.hub, node, { epoch: 1, step: 100 });
  await say([{ safeStep: null, localStep: 100, unsafeCheckpoints: 1, unsafeBytes: 1024 }]);
  await expectNewest(null);
  expect((await advised()).text).toBe(
    "llama has no safe checkpoint: on another node it starts from 0. Step 100 (1.0 KiB not safe) is only on the disk of gpu-1: start its worker again, and it uploads what it captured.",
  );
});

it("advises a registered checkpoint of another tool as any other", async () => {
  await twoSteps();
  const row = await test.hub.db.checkpoint.findFirstOrThrow({ where: { run, step: 300n } });
  await test.hub.db.checkpoint.update({ where: { id: row.id }, data: { writerEpoch: ADOPTED_EPOCH, step: 900n } });
  // The epoch of a node counts first.
  await expectNewest(200);
  await change(200, { state: "trashed" });
  await expectNewest(900);
});

it("names three of the runs that the node writes, and reads of many nodes in one question", async () => {
  const names = ["a", "b", "c", "d", "taken"].map((name) => runName.parse(name));
  for (const name of names) {
    const writer = name === "taken" ? other : node;
    await addTestWriter(test.hub, name, writer.nodeId);
    test.hub.live.writers.set(name, { nodeId: writer.nodeId, epoch: 1 });
  }
  await say(names.map((name, index) => ({ run: name, localAt: index })));
  await say([{ run: runName.parse("taken") }], other);
  const counted = countQueries(test.hub);
  const found = await adviseContinue(counted.hub, { nodeIds: [node.nodeId, other.nodeId, "nobody"] });
  expect(counted.asked()).toEqual(["raw.$queryRaw"]);
  expect(found.get(node.nodeId)?.runs.map((one) => one.run)).toEqual(["d", "c", "b"]);
  expect(found.get(node.nodeId)?.text).toMatch(/^d .* c .* b .* And 1 more run\.$/);
  expect(found.get(other.nodeId)?.runs.map((one) => one.run)).toEqual(["taken"]);
  const told = await callAs(test.hub, node.caller).node.restorePoints({
    runs: [...names, runName.parse("not-known")],
  });
  expect(told.map((one) => one.run)).toEqual(["a", "b", "c", "d", "not-known"]);
});
