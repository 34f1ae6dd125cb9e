import { describe, expect, it } from "vitest";
import { addTestProfile, callAs, type TestNode } from "#server/testing/open-test-hub.ts";
import { fault } from "#server/testing/match-fault.ts";
import { ALERT_SETTLE_MS } from "#protocol/alerts/alerts.ts";
import { doubtOfPiece } from "#protocol/checkpoint/pieces.ts";
import { evaluate } from "#server/features/alerts/evaluate.ts";
import { removeCheckpoint } from "#server/features/retention/remove-checkpoint.ts";
import { newId } from "#server/platform/random-id.ts";
import { announce, manifestOf, run, upload, type StagedFile } from "#server/testing/stage-checkpoint.ts";
import { rebuildFrom, tools, toolsForEach } from "#server/testing/tools-for-each.ts";
import { node, other, pairForEach, profileId, store, test } from "#server/testing/pair-for-each.ts";
import { keysOf } from "#server/testing/test-bucket.ts";

pairForEach();
toolsForEach();

type Group = { rank: number; of: number; start?: string };
const claim = (who: TestNode, group: Group) => callAs(test.hub, who.caller).node.claimEpoch({ run, group });
const start = (who: TestNode, rank: number, of = 2) => claim(who, { rank, of, start: newId() });

/** Commits the piece of a node. */
async function commitPiece(who: TestNode, at: { rank: number; epoch: number; step: number; files?: StagedFile[] }) {
  const { rank, epoch, step } = at;
  const files = at.files ?? [{ path: `rank-${rank}.bin`, text: `of node ${rank} at ${step}` }];
  const staged = await announce(test.hub, who, { epoch, step, files });
  const etags = await upload(test.hub, who, staged);
  const of = { rank, of: 2 };
  const manifest = { ...manifestOf(test.hub, who, { staged, etags }), piece: of, doubt: doubtOfPiece(of) };
  const commit = () => callAs(test.hub, who.caller).node.commit({ manifest });
  await commit();
  return { staged, commit };
}

const listed = async () => (await callAs(test.hub, "viewer").runs.get({ run })).checkpoints;
const told = async () =>
  (await listed()).map(({ step, doubt, isNewest, fileCount }) => ({ step, doubt, isNewest, fileCount }));

describe("nodes that write a run together", () => {
  it("are each heard about their program and their losses", async () => {
    await start(node, 0);
    const { epoch } = await start(other, 1);
    const lost = { lossId: newId(), writerEpoch: epoch, fromStep: 10, lastStep: 40, lostSteps: 30, lostMs: 60_000 };
    await callAs(test.hub, other.caller).node.record({
      events: [
        { seq: 1, at: 1, type: "program-ended", run, code: 1, signal: null, ranMs: 1, tail: "" },
        { seq: 2, at: 1, type: "work-lost", run, ...lost },
      ],
    });
    const asked = { nodeId: null, run, cursor: null, limit: 20, kinds: ["program-ended", "work-lost"] };
    const { rows } = await callAs(test.hub, "viewer").events.list(asked);
    expect(rows.map(({ kind, nodeId }) => `${kind} ${nodeId}`).toSorted()).toEqual([
      `program-ended ${other.nodeId}`,
      `work-lost ${other.nodeId}`,
    ]);
  });

  it("share an epoch and its start, whatever becomes complete meanwhile", async () => {
    expect(await start(node, 0)).toEqual({ epoch: 1, groupOf: 2, parent: null, newest: null });
    expect(await start(other, 1)).toEqual({ epoch: 1, groupOf: 2, parent: null, newest: null });
    await commitPiece(node, { rank: 0, epoch: 1, step: 10 });
    await commitPiece(other, { rank: 1, epoch: 1, step: 10 });
    const again = await start(node, 0);
    expect(again).toMatchObject({ epoch: 2, parent: { epoch: 1, step: 10 }, newest: { step: 10 } });
    await commitPiece(node, { rank: 0, epoch: 2, step: 20 });
    expect(await start(other, 1)).toMatchObject({ epoch: 2, parent: { epoch: 1, step: 10 }, newest: { step: 10 } });
  });

  it("get the same answer for the same start, and the next epoch for another", async () => {
    const first = newId();
    for (let tries = 0; tries < 2; tries++) expect((await claim(node, { rank: 0, of: 2, start: first })).epoch).toBe(1);
    expect((await start(other, 1)).epoch).toBe(1);
    expect((await claim(other, { rank: 1, of: 2 })).epoch).toBe(1);
    expect((await start(node, 0)).epoch).toBe(2);
  });

  it("shut out what an earlier start still has to send: pieces of two trainings are never joined", async () => {
    await start(node, 0);
    await start(other, 1);
    await commitPiece(node, { rank: 0, epoch: 1, step: 10 });
    await start(node, 0);
    await expect(commitPiece(other, { rank: 1, epoch: 1, step: 10 })).rejects.toThrow(fault("EPOCH_OVER"));
    await start(other, 1);
    await commitPiece(other, { rank: 1, epoch: 2, step: 10 });
    expect((await told()).every(({ isNewest, doubt }) => !isNewest && doubt !== null)).toBe(true);
    await commitPiece(node, { rank: 0, epoch: 2, step: 10 });
    expect((await listed())[0]).toMatchObject({ writerEpoch: 2, isNewest: true, doubt: null });
  });

  it("open a new line together while their programs run: the first opens it, the others join, and pieces are joined in it", async () => {
    await start(node, 0);
    await start(other, 1);
    for (const [rank, who] of [node, other].entries()) await commitPiece(who, { rank, epoch: 1, step: 200 });
    const branch = { from: null, after: { epoch: 1, step: 200 }, step: 50 };
    const begin = (who: TestNode, rank: number) =>
      callAs(test.hub, who.caller).node.claimEpoch({ run, group: { rank, of: 2 }, isLine: true, branch });
    const follow = (who: TestNode, rank: number, lineAfter: number) =>
      callAs(test.hub, who.caller).node.claimEpoch({ run, group: { rank, of: 2 }, lineAfter });
    await expect(follow(other, 1, 1)).rejects.toThrow(fault("EPOCH_OVER"));
    expect(await begin(node, 0)).toMatchObject({ epoch: 2, groupOf: 2, parent: null, branch });
    await commitPiece(node, { rank: 0, epoch: 2, step: 50 });
    // A capture of the other node in the earlier line is kept there; one of the first node in the new line belongs to that line.
    await commitPiece(other, { rank: 1, epoch: 1, step: 210 });
    await expect(commitPiece(other, { rank: 1, epoch: 1, step: 50 })).rejects.toThrow(fault("EPOCH_OVER"));
    expect(await follow(other, 1, 1)).toMatchObject({ epoch: 2, branch, newest: { step: 200 } });
    expect(await begin(other, 1)).toMatchObject({ epoch: 2 });
    await commitPiece(other, { rank: 1, epoch: 2, step: 50 });
    expect((await listed())[0]).toMatchObject({ step: 50, writerEpoch: 2, isNewest: true, doubt: null });
    // The start of a program opens an epoch of its own, as before.
    expect((await start(node, 0)).epoch).toBe(3);
    await expect(follow(other, 1, 2)).rejects.toThrow(fault("EPOCH_OVER"));
  });

  it("commit their own pieces only", async () => {
    await start(node, 0);
    await start(other, 1);
    await expect(commitPiece(node, { rank: 1, epoch: 1, step: 10 })).rejects.toThrow("it is the piece of another node");
    const staged = await announce(test.hub, node, { epoch: 1, step: 20 });
    const manifest = manifestOf(test.hub, node, { staged, etags: await upload(test.hub, node, staged) });
    const commit = callAs(test.hub, node.caller).node.commit({ manifest });
    await expect(commit).rejects.toThrow("it is no piece, and 2 nodes write the run together");
  });
});

describe("pieces of one step", () => {
  it("become one checkpoint, which each of the nodes may read, with the objects where they lie", async () => {
    await start(node, 0);
    await start(other, 1);
    const zero = await commitPiece(node, { rank: 0, epoch: 1, step: 10 });
    expect(await told()).toEqual([
      { step: 10, doubt: "the piece of node 1 (gpu-2) is missing", isNewest: false, fileCount: 1 },
    ]);
    expect(await callAs(test.hub, node.caller).node.openPieces({ run })).toEqual([
      { step: 10, why: "the piece of node 1 (gpu-2) is missing" },
    ]);
    const events = () =>
      test.hub.db.event.findMany({ where: { run, kind: "checkpoint-safe" }, orderBy: { id: "asc" } });
    // A piece alone is no safe step.
    expect(await events()).toMatchObject([
      { work: "moving", step: null, text: expect.stringMatching(/^kept the piece of node 0 of 2 of step 10 of /) },
    ]);
    const one = await commitPiece(other, { rank: 1, epoch: 1, step: 10 });
    expect((await events()).map(({ work, step }) => [work, step])).toEqual([
      ["moving", null],
      ["moving", null],
      ["safe", 10n],
    ]);
    expect(await told()).toEqual([{ step: 10, doubt: null, isNewest: true, fileCount: 2 }]);
    expect(await callAs(test.hub, node.caller).node.openPieces({ run })).toEqual([]);
    // An answer that was lost: the same commit again.
    await zero.commit();
    await one.commit();
    expect(await listed()).toHaveLength(1);
    const [row] = await listed();
    const read = await callAs(test.hub, other.caller).node.readCheckpoint({ checkpointId: row?.id ?? "" });
    const keys = read.manifest.files.flatMap(({ extents }) => extents.map(({ key }) => key));
    const operations = keys.map((key) => ({ op: "get" as const, key, offset: 0, length: 4, etag: null }));
    expect(keys.map((key) => key.split("/")[4])).toEqual([zero.staged.attempt, one.staged.attempt]);
    expect((await callAs(test.hub, other.caller).node.sign({ operations })).requests).toHaveLength(2);
    // The copy of a piece may go while the whole is there, and no longer.
    const checkpointIds = [zero.staged.checkpointId, row?.id ?? ""];
    const confirm = () => callAs(test.hub, node.caller).node.confirmComplete({ checkpointIds });
    expect(await confirm()).toEqual({ complete: checkpointIds });
    await test.hub.db.checkpoint.update({ where: { id: row?.id ?? "" }, data: { state: "trashed" } });
    expect(await confirm()).toEqual({ complete: [] });
  });

  it("are known again to a record that is rebuilt from the bucket: joined ones as one, others as they were", async () => {
    await start(node, 0);
    await start(other, 1);
    await commitPiece(node, { rank: 0, epoch: 1, step: 10 });
    await commitPiece(other, { rank: 1, epoch: 1, step: 10 });
    await commitPiece(node, { rank: 0, epoch: 1, step: 20 });
    const { missing, refused } = await rebuildFrom(store);
    expect([missing, refused]).toEqual([0, 0]);
    const select = { id: true, step: true, state: true, joinedId: true, piece: true } as const;
    const rows = (db: typeof tools.db) => db.checkpoint.findMany({ select, orderBy: { id: "asc" } });
    expect(await rows(tools.db)).toEqual(await rows(test.hub.db));
    expect(await tools.db.epoch.findMany({ select: { groupOf: true } })).toEqual([{ groupOf: 2 }]);
  });

  it("are deleted with the whole, and nothing of them is left", async () => {
    await start(node, 0);
    await start(other, 1);
    await commitPiece(node, { rank: 0, epoch: 1, step: 10 });
    await commitPiece(other, { rank: 1, epoch: 1, step: 10 });
    const [row] = await listed();
    const whole = await test.hub.db.checkpoint.findUniqueOrThrow({ where: { id: row?.id ?? "" } });
    expect(await removeCheckpoint(test.hub, whole)).toEqual({ started: true });
    expect(await test.hub.db.checkpoint.count()).toBe(0);
    expect(await keysOf(test.hub, profileId, "team/runs/")).toEqual([]);
    expect(await keysOf(test.hub, profileId, "team/manifests/")).toEqual([]);
  });
});

describe("what cannot be joined", () => {
  const admin = () => callAs(test.hub, "admin");
  const members = () => test.hub.db.epochMember.count();

  it("is refused at the first claim where the bucket wants encryption, before a byte is written", async () => {
    await admin().sealing.set({ id: profileId, sealing: "content", understood: true });
    await expect(start(node, 0)).rejects.toThrow(
      /pieces by several nodes cannot be encrypted, and .* wants everything encrypted/,
    );
    expect([await members(), await keysOf(test.hub, profileId, "team/")]).toEqual([0, []]);
  });

  it("is refused when encryption is switched on while the nodes write, and not once they have ended", async () => {
    await start(node, 0);
    await start(other, 1);
    const seal = () => admin().sealing.set({ id: profileId, sealing: "content", understood: true });
    await expect(seal()).rejects.toThrow(/2 nodes write .* together, and pieces cannot be encrypted/);
    await commitPiece(node, { rank: 0, epoch: 1, step: 10 });
    await commitPiece(other, { rank: 1, epoch: 1, step: 10 });
    expect((await listed())[0]).toMatchObject({ doubt: null, isNewest: true });
    for (const live of test.hub.live.nodes.values()) live.leftAt = test.hub.now();
    expect(await seal()).toMatchObject({ sealing: "content" });
  });

  it("is refused at the claim of a node that belongs to another bucket, with what to do", async () => {
    const second = await addTestProfile(test.hub, store.endpoint, { name: "second", prefix: "second/" });
    await start(node, 0);
    await test.hub.db.node.update({ where: { id: other.nodeId }, data: { profileId: second } });
    const live = test.hub.live.nodes.get(other.nodeId);
    if (live !== undefined) live.profileId = second;
    await expect(start(other, 1)).rejects.toThrow(/lie in one bucket: enrol this node there too/);
  });

  it("is refused as a further home, and so is the claim of a run that has one", async () => {
    const second = await addTestProfile(test.hub, store.endpoint, { name: "second", prefix: "second/" });
    const homes = (profileIds: string[]) => callAs(test.hub, "operator").homes.set({ run, profileIds, copies: null });
    await start(node, 0);
    await expect(homes([profileId, second])).rejects.toThrow(
      /2 nodes write it together: pieces by several nodes lie in one bucket/,
    );
    expect(await claim(node, { rank: 0, of: 2 })).toMatchObject({ epoch: 1, groupOf: 2 });
    await test.hub.db.runHome.createMany({
      data: [profileId, second].map((id, position) => ({
        run,
        profileId: id,
        position,
        addedAt: new Date(),
        addedBy: "",
      })),
    });
    await expect(start(other, 1)).rejects.toThrow(
      /pieces by several nodes lie in one bucket, and this run has 2: .*, second/,
    );
    await homes([profileId]);
    expect(await start(other, 1)).toMatchObject({ epoch: 1 });
  });
});

describe("a piece that is missing", () => {
  it("is said by an alert with the node that has to bring it, until it is there", async () => {
    const { alerts } = callAs(test.hub, "admin");
    const told = async () => {
      await evaluate(test.hub);
      test.advance(ALERT_SETTLE_MS);
      await evaluate(test.hub);
      return (await alerts.active({})).rows.flatMap(({ text }) => (text.includes("step 10") ? [text] : []));
    };
    await start(node, 0);
    await start(other, 1);
    await commitPiece(node, { rank: 0, epoch: 1, step: 10 });
    expect(await told()).toEqual([]);
    test.advance(11 * 60_000);
    expect(await told()).toEqual([
      `kept step 10 of ${run}, which may not be whole: the piece of node 1 (gpu-2) is missing`,
    ]);
    await commitPiece(other, { rank: 1, epoch: 1, step: 10 });
    expect(await told()).toEqual([]);
  });
});
