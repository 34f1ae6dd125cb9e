import { beforeEach, describe, expect, it } from "vitest";
import { makeRunBacklog } from "#protocol/testing/make-run-backlog.ts";
import { makeSafe, run } from "#server/testing/stage-checkpoint.ts";
import { callAs, type TestNode } from "#server/testing/open-test-hub.ts";
import { fault } from "#server/testing/match-fault.ts";
import { claim, node, other, test, pairForEach } from "#server/testing/pair-for-each.ts";

pairForEach();

const losses = () => callAs(test.hub, "viewer").losses.list({ run: null, nodeId: null, before: null, limit: 10 });

/** What the node says of the run: seen on disk up to one step, trained up to another. */
async function says(
  who: TestNode,
  about: { localStep: number; trainedStep: number | null; at: number; idleMs?: number; isLocalByTime?: true },
): Promise<void> {
  const { localStep, trainedStep, at, idleMs = 0, isLocalByTime } = about;
  const trained = { trainedStep, trainedAt: trainedStep === null ? null : at };
  const backlog = makeRunBacklog({
    run,
    startedAt: at - 3_600_000,
    ...trained,
    localStep,
    localAt: at,
    idleMs,
    ...(isLocalByTime && { isLocalByTime }),
  });
  const rates = { upBytesPerSecond: 0, downBytesPerSecond: 0, rttMs: null, disk: null, cpuPercent: null };
  const report = { bootId: "boot-one-id", seq: 1, at, ...rates, runs: [backlog], transfers: [] };
  await callAs(test.hub, who.caller).node.progress(report);
}

const interrupted = (change: object = {}) => ({
  seq: 1,
  at: 1,
  type: "work-lost" as const,
  lossId: "0123456789abcdef",
  run,
  writerEpoch: 1,
  fromStep: 120,
  lastStep: 137,
  lostSteps: 17,
  lostMs: 90_000,
  ...change,
});

describe("an interruption that its own node tells of", () => {
  beforeEach(() => claim(node));

  it("is not written down when the node never wrote that epoch of the run", async () => {
    const { record } = callAs(test.hub, other.caller).node;
    expect(await record({ events: [interrupted(), interrupted({ seq: 2, writerEpoch: 2 })] })).toEqual({
      acceptedThrough: 2,
    });
    expect(await losses()).toEqual([]);
  });

  it("costs a year at most, and is written down some thousand times a day", async () => {
    const { record } = callAs(test.hub, node.caller).node;
    for (let batch = 0; batch < 15; batch++) {
      const events = Array.from({ length: 100 }, (_, index) =>
        interrupted({ seq: batch * 100 + index + 1, lossId: `loss-number-${batch}-${index}`, lostMs: 2 ** 50 }),
      );
      await record({ events });
    }
    expect(await test.hub.db.loss.count()).toBe(1_440);
    const { total } = await callAs(test.hub, "viewer").losses.summary({ run: null, weeks: 1 });
    expect(total).toMatchObject({ interruptions: 1_440, lostMs: 1_440 * 366 * 86_400_000 });
  });

  it("is in the ledger to the step, once however often it is told, and in the history", async () => {
    const { record } = callAs(test.hub, node.caller).node;
    await record({ events: [interrupted()] });
    await record({ events: [interrupted({ seq: 2 })] });
    expect(await losses()).toMatchObject([
      {
        run,
        epoch: 1,
        nodeId: node.nodeId,
        byNodeId: node.nodeId,
        fromStep: 120,
        lastStep: 137,
        lostSteps: 17,
        lostMs: 90_000,
      },
    ]);
    const { rows } = await callAs(test.hub, "viewer").events.list({ nodeId: null, run, cursor: null, limit: 20 });
    expect(rows.filter(({ kind }) => kind === "work-lost").map(({ text }) => text)).toEqual([
      "goes on with llama from step 120: 17 steps (2 min) are done again",
    ]);
  });

  it("that lost nothing is no row", async () => {
    await callAs(test.hub, node.caller).node.record({ events: [interrupted({ lastStep: 120, lostSteps: 0 })] });
    expect(await losses()).toEqual([]);
  });

  it("is found by run, by node and by time", async () => {
    await callAs(test.hub, node.caller).node.record({ events: [interrupted()] });
    const ask = (change: object) =>
      callAs(test.hub, "viewer").losses.list({ run: null, nodeId: null, before: null, limit: 10, ...change });
    expect(await ask({ run })).toHaveLength(1);
    expect(await ask({ nodeId: other.nodeId })).toEqual([]);
    expect(await ask({ before: test.hub.now() - 60_000 })).toEqual([]);
  });
});

describe("a run that another node takes over", () => {
  it("has lost what its writer had done by its last report and nobody can go on from", async () => {
    await claim(node);
    await makeSafe(test.hub, node, { epoch: 1, step: 500 });
    const now = test.hub.now();
    await says(node, { localStep: 500, trainedStep: 640, at: now });
    await claim(other);
    const [row, ...rest] = await losses();
    expect(rest).toEqual([]);
    expect(row).toMatchObject({
      epoch: 2,
      nodeId: node.nodeId,
      byNodeId: other.nodeId,
      fromStep: 500,
      lastStep: 640,
      lostSteps: 140,
    });
    expect(row?.lostMs).toBeGreaterThan(0);
    // The same claim again is not another loss.
    await claim(other);
    expect(await losses()).toHaveLength(1);
  });

  describe("by a node that has to go further back", () => {
    const back = { writerEpoch: 2, fromStep: 400, lastStep: 500, lostSteps: 100, lostMs: 60_000 };
    const tell = (who: TestNode, change: object = {}) =>
      callAs(test.hub, who.caller).node.record({ events: [interrupted({ ...back, ...change })] });
    const take = async (trainedStep: number) => {
      await claim(node);
      await makeSafe(test.hub, node, { epoch: 1, step: 400 });
      await makeSafe(test.hub, node, { epoch: 1, step: 500 });
      await says(node, { localStep: 500, trainedStep, at: test.hub.now() });
      await claim(other);
    };

    it("has lost what lies between as well, in the same row, once however often it is told", async () => {
      await take(640);
      const [before] = await losses();
      await tell(other);
      const [row, ...rest] = await losses();
      expect(rest).toEqual([]);
      expect(row).toMatchObject({ nodeId: node.nodeId, fromStep: 400, lastStep: 640, lostSteps: 240 });
      expect(row?.lostMs).toBe((before?.lostMs ?? 0) + 60_000);
      await tell(other, { seq: 2 });
      expect(await losses()).toEqual([row]);
    });

    it("has a row of its own when nothing else was lost", async () => {
      await take(500);
      await tell(other);
      expect(await losses()).toMatchObject([{ nodeId: other.nodeId, fromStep: 400, lastStep: 500, lostSteps: 100 }]);
    });

    it("is not corrected by a node that did not take it over, nor by what was lost later", async () => {
      await take(640);
      await tell(node, { lossId: "another-node-says-so" });
      await tell(other, { lossId: "later-interruption", fromStep: 500, lastStep: 700, lostSteps: 200 });
      const rows = await losses();
      expect(rows).toHaveLength(2);
      expect(rows).toContainEqual(expect.objectContaining({ fromStep: 500, lastStep: 640, lostSteps: 140 }));
    });
  });

  it("has lost all of it when nothing of it was safe", async () => {
    await claim(node);
    await says(node, { localStep: 80, trainedStep: null, at: test.hub.now() });
    await claim(other);
    expect(await losses()).toMatchObject([{ fromStep: null, lastStep: 80, lostSteps: 80, lostMs: 3_600_000 }]);
  });

  it("has lost time and no steps when its steps are times of writing", async () => {
    await claim(node);
    const at = test.hub.now();
    const time = Math.floor(at / 1_000);
    await makeSafe(test.hub, node, { epoch: 1, step: time });
    await says(node, { localStep: time + 900, trainedStep: null, at: at + 900_000, isLocalByTime: true });
    await claim(other);
    const [row, ...rest] = await losses();
    expect(rest).toEqual([]);
    expect(row).toMatchObject({ fromStep: time, lostSteps: 0 });
    expect(row?.lostMs).toBeGreaterThan(800_000);
  });

  it("has not lost the time in which its writer did not train", async () => {
    await claim(node);
    await says(node, { localStep: 80, trainedStep: null, at: test.hub.now(), idleMs: 3_000_000 });
    await claim(other);
    expect(await losses()).toMatchObject([{ lostSteps: 80, lostMs: 600_000 }]);
  });

  it("has lost nothing when the newest step was safe", async () => {
    await claim(node);
    await makeSafe(test.hub, node, { epoch: 1, step: 500 });
    await says(node, { localStep: 500, trainedStep: 500, at: test.hub.now() });
    await claim(other);
    expect(await losses()).toEqual([]);
  });
});

describe("looking for a checkpoint", () => {
  const find = (who: TestNode, step?: number) =>
    callAs(test.hub, who.caller).node.findCheckpoint({ run, ...(step === undefined ? {} : { step }) });

  it("finds the newest, or that of a step, for the node that writes the run", async () => {
    await claim(node);
    expect(await find(node)).toBeNull();
    const old = await makeSafe(test.hub, node, { epoch: 1, step: 500 });
    const newest = await makeSafe(test.hub, node, { epoch: 1, step: 1000 });
    expect(await find(node)).toMatchObject({ checkpointId: newest.checkpointId, step: 1000 });
    expect(await find(node, 500)).toMatchObject({ checkpointId: old.checkpointId, step: 500 });
    expect(await find(node, 501)).toBeNull();
  });

  it("is refused to any other node", async () => {
    const refused = fault("NOT_THIS_NODES");
    await expect(find(other)).rejects.toEqual(refused);
    await claim(node);
    await expect(find(other)).rejects.toEqual(refused);
  });
});
