import { beforeEach, describe, expect, it } from "vitest";
import type { NodeMessage } from "#protocol/wire/commands.ts";
import { makeRunBacklog } from "#protocol/testing/make-run-backlog.ts";
import type { ProgressReport } from "#protocol/wire/reports.ts";
import { announce, makeSafe, run, type Staged } from "#server/testing/stage-checkpoint.ts";
import { addTestNode, callAs, report, type TestNode } from "#server/testing/open-test-hub.ts";
import { markSilentNodes } from "#server/http/tick.ts";
import { newId } from "#server/platform/random-id.ts";
import { fault } from "#server/testing/match-fault.ts";
import { epoch, profileId, test, writer, writerForEach } from "#server/testing/writer-for-each.ts";

let target: TestNode;
let staged: Staged;
writerForEach();
beforeEach(async () => {
  target = await addTestNode(test.hub, profileId, "target");
  staged = await makeSafe(test.hub, writer, { epoch, step: 500 });
});

const disk = (freeBytes: number): Partial<ProgressReport> => ({
  disk: { freeBytes, totalBytes: 1_000_000, path: "/data/checkpoints" },
});
const say = (who: TestNode, changes: Partial<ProgressReport>) =>
  callAs(test.hub, who.caller).node.progress({ ...report(test.hub), ...changes });
const plan = (nodeId: string | null = null) =>
  callAs(test.hub, "viewer").restores.plan({ checkpointId: staged.checkpointId, nodeId });
const create = (changes: { requestId?: string; nodeId?: string; checkpointId?: string } = {}) =>
  callAs(test.hub, "operator").restores.create({
    requestId: newId(),
    checkpointId: staged.checkpointId,
    nodeId: target.nodeId,
    targetPath: "/data/checkpoints/llama/checkpoint-500",
    ...changes,
  });
const listed = async () =>
  (await callAs(test.hub, "viewer").transfers.list({ nodeId: null, run: null, states: [], cursor: null, limit: 50 }))
    .rows;
async function open(who: TestNode) {
  const answer = await callAs(test.hub, who.caller).node.stream({ bootId: newId() });
  const stream = (answer as AsyncIterable<NodeMessage>)[Symbol.asyncIterator]();
  const next = async () => (await stream.next()).value as NodeMessage | undefined;
  await next();
  return { next, end: () => stream.return?.(undefined) };
}
const sizeBytes = () => Buffer.byteLength(staged.files[0]?.text ?? "");

describe("a restore plan", () => {
  it("suggests a node with room, and says of each other why not", async () => {
    await say(target, disk(1_000));
    await say(writer, disk(sizeBytes()));
    const answer = await plan();
    expect(answer.suggestedNodeId).toBe(target.nodeId);
    expect(answer.candidates.map(({ name, whyNot }) => [name, whyNot])).toEqual([
      ["target", null],
      [writer.name, expect.stringMatching(/^only .* free, .* needed$/)],
    ]);
  });

  it("wants five per cent more than the files", async () => {
    await say(target, disk(sizeBytes()));
    expect((await plan(target.nodeId)).candidates.find((one) => one.nodeId === target.nodeId)?.whyNot).toContain(
      "free",
    );
    await say(target, disk(Math.ceil(sizeBytes() * 1.05)));
    expect((await plan(target.nodeId)).candidates.find((one) => one.nodeId === target.nodeId)?.whyNot).toBeNull();
  });

  it("leaves out nodes that cannot hear", async () => {
    test.advance(31_000);
    await say(target, disk(1_000));
    await markSilentNodes(test.hub);
    const silent = (await plan()).candidates.find(({ name }) => name === writer.name);
    expect(silent?.whyNot).toBe("it is silent");
    await callAs(test.hub, "admin").nodes.revoke({ id: writer.nodeId });
    expect((await plan()).candidates.map(({ name }) => name)).toEqual(["target"]);
  });

  it("says how long it takes by what the node's own downloads have reached", async () => {
    await say(target, disk(1_000_000));
    expect((await plan(target.nodeId)).candidates[0]).toMatchObject({ etaMs: null, bytesPerSecond: null });
    await say(target, { ...disk(1_000_000), downBytesPerSecond: 1_000_000 });
    await say(target, disk(1_000_000));
    const [candidate] = (await plan(target.nodeId)).candidates;
    expect(candidate).toMatchObject({ bytesPerSecond: 1_000_000, etaMs: Math.round(sizeBytes() / 1_000) });
  });

  it("remembers that rate over a restart of the hub", async () => {
    const { transferId } = await create();
    const at = test.hub.now();
    const ended = { seq: 1, at, type: "transfer-ended" as const, transferId, direction: "download" as const };
    const about = {
      state: "done" as const,
      checkpointId: staged.checkpointId,
      run,
      step: 500,
      startedBy: "operator" as const,
    };
    const amounts = { bytes: 4_000, files: 1, sentBytes: 4_000, startedAt: at - 2_000, retries: 0, connections: 1 };
    const event = { ...ended, ...about, ...amounts, fault: null };
    await callAs(test.hub, target.caller).node.record({ events: [event] });
    await test.restart();
    expect((await plan(target.nodeId)).candidates.find((one) => one.nodeId === target.nodeId)?.bytesPerSecond).toBe(
      2_000,
    );
  });

  it("suggests a folder outside of the watched ones, and the training folder second", async () => {
    const watched = [{ run, folder: "/data/checkpoints", mayRestore: true }];
    await say(target, { ...disk(1_000_000), restoreFolder: "/data/restored", watched });
    const answer = await plan(target.nodeId);
    expect(answer).toMatchObject({ isNewest: true, requests: 1, egress: "own" });
    expect(answer.suggestedPath).toBe("/data/restored/llama/step-500");
    expect(answer.trainingPath).toBe("/data/checkpoints/checkpoint-500");
    expect(answer.watched).toEqual([{ ...watched[0], isTraining: false, intervalMs: null }]);
    await say(target, { ...disk(1_000_000), watched });
    expect((await plan(target.nodeId)).suggestedPath).toBe("/data/checkpoints/checkpoint-500");
    // A field shows such a path as another one than it is.
    const odd = [{ ...watched[0], run, folder: "/data/\u202estniop", mayRestore: true }];
    await say(target, { ...disk(1_000_000), restoreFolder: "/data/a\n/b", watched: odd });
    expect(await plan(target.nodeId)).toMatchObject({ trainingPath: null, watched: [] });
  });

  it("says which run a node trains, and suggests one that trains none", async () => {
    const at = report(test.hub).at;
    const trained = makeRunBacklog({ run, startedAt: 1, localStep: 500, localAt: at, intervalMs: 360_000 });
    await say(target, { ...disk(1_000_000), runs: [trained], watched: [{ run, folder: "/data/c", mayRestore: true }] });
    await say(writer, disk(1_000_000));
    const answer = await plan(target.nodeId);
    expect(answer.candidates.find(({ nodeId }) => nodeId === target.nodeId)?.training).toBe("training llama");
    expect(answer.watched).toMatchObject([{ isTraining: true, intervalMs: 360_000 }]);
    expect((await plan()).suggestedNodeId).toBe(writer.nodeId);
  });

  it("suggests beside the folder of an older worker, which says its first watched folder alone", async () => {
    const runs = [makeRunBacklog({ run, startedAt: 1 })];
    await say(target, { ...disk(1_000_000), runs });
    expect((await plan(target.nodeId)).suggestedPath).toBe("/data/restored/llama/step-500");
    await say(target, { ...disk(1_000_000), runs, restoreFolder: "/home/me/restored" });
    expect((await plan(target.nodeId)).suggestedPath).toBe("/home/me/restored/llama/step-500");
  });

  it("puts a restore without a target outside of each node's watched folders", async () => {
    await say(target, { ...disk(1_000_000), restoreFolder: "/a/restored", watched: [] });
    await say(writer, { ...disk(1_000_000), restoreFolder: "/b/restored", watched: [] });
    const start = (nodeIds: string[]) =>
      callAs(test.hub, "operator").restores.start({ requestId: newId(), checkpointId: staged.checkpointId, nodeIds });
    await start([target.nodeId, writer.nodeId]);
    const places = (await test.hub.db.transfer.findMany({ where: { direction: "download" } })).map(
      ({ place }) => place,
    );
    expect(places.toSorted()).toEqual(["/a/restored/llama/step-500", "/b/restored/llama/step-500"]);
    await say(target, { ...disk(1_000_000), watched: [{ run, folder: "/data/c", mayRestore: true }] });
    expect((await start([target.nodeId])).restores).toMatchObject([{ fault: { code: "CONFLICT" }, transferId: null }]);
  });

  it("says how many files of a plan are pickles, and who wrote them", async () => {
    expect((await plan()).pickles).toBe(0);
    const files = ["model.safetensors", "optimizer.pt", "rng_state.pth"].map((path) => ({ path, text: path }));
    staged = await makeSafe(test.hub, writer, { epoch, step: 600, files });
    expect(await plan()).toMatchObject({ pickles: 2, checkpoint: { nodeName: writer.name } });
    const asked = { checkpointId: staged.checkpointId, nodeId: null, choice: { files: ["model.safetensors"] } };
    expect((await callAs(test.hub, "viewer").restores.plan(asked)).pickles).toBe(0);
  });

  it("lists every node, also when one is asked for", async () => {
    const answer = await plan(target.nodeId);
    expect(answer.suggestedNodeId).toBe(target.nodeId);
    expect(answer.candidates.map((one) => one.nodeId).toSorted()).toEqual([target.nodeId, writer.nodeId].toSorted());
  });

  it("is refused for a checkpoint that is not complete", async () => {
    const half = await announce(test.hub, writer, { epoch: staged.epoch, step: 600 });
    const asked = callAs(test.hub, "viewer").restores.plan({ checkpointId: half.checkpointId, nodeId: null });
    await expect(asked).rejects.toEqual(fault("CHECKPOINT_INCOMPLETE"));
    await expect(create({ checkpointId: half.checkpointId })).rejects.toEqual(fault("CHECKPOINT_INCOMPLETE"));
  });
});

describe("a restore", () => {
  it("shows up at once and reaches the node's open stream", async () => {
    const stream = await open(target);
    const { transferId } = await create();
    expect((await listed())[0]).toMatchObject({
      id: transferId,
      direction: "download",
      state: "waiting",
      startedBy: "operator",
      place: "/data/checkpoints/llama/checkpoint-500",
    });
    expect(await stream.next()).toMatchObject({
      type: "command",
      command: { kind: "restore", transferId, checkpointId: staged.checkpointId, run, step: 500 },
    });
    await stream.end();
  });

  it("is one restore, however often the same request arrives, also at the same moment", async () => {
    const requestId = newId();
    const answers = await Promise.all([create({ requestId }), create({ requestId }), create({ requestId })]);
    expect(new Set(answers.map(({ transferId }) => transferId)).size).toBe(1);
    expect(await test.hub.db.command.count()).toBe(1);
    expect(await listed()).toHaveLength(1);
  });

  it("is told again at each reconnection until the node reports its end, also by a hub that was restarted", async () => {
    await create();
    const first = await open(target);
    const told = await first.next();
    if (told?.type !== "command") throw new Error("no command");
    await first.end();
    const accepted = { seq: 1, at: 1, type: "command-accepted" as const, commandId: told.command.id };
    await callAs(test.hub, target.caller).node.record({ events: [accepted] });
    await test.restart();
    const second = await open(target);
    expect(await second.next()).toEqual(told);
    await second.end();
    const ended = { seq: 2, at: 2, type: "command-ended" as const, commandId: told.command.id };
    await callAs(test.hub, target.caller).node.record({ events: [{ ...ended, outcome: "done", fault: null }] });
    const third = await open(target);
    const next = third.next();
    test.startClosing();
    await expect(next).rejects.toMatchObject({ code: "SERVICE_UNAVAILABLE" });
  });

  it("that the node refuses is shown as failed, with the reason", async () => {
    const stream = await open(target);
    await create();
    const told = await stream.next();
    if (told?.type !== "command") throw new Error("no command");
    const ended = { seq: 1, at: 2, type: "command-ended" as const, commandId: told.command.id };
    const noSpace = { code: "NO_SPACE" as const };
    await callAs(test.hub, target.caller).node.record({ events: [{ ...ended, outcome: "failed", fault: noSpace }] });
    expect((await listed())[0]).toMatchObject({ state: "failed", fault: noSpace });
    const { rows } = await callAs(test.hub, "viewer").events.list({ nodeId: null, run: null, cursor: null, limit: 1 });
    expect(rows[0]).toMatchObject({ kind: "restore-failed", nodeName: "target", step: 500, fault: noSpace });
    await stream.end();
  });

  it("is refused where there is no room", async () => {
    await say(target, disk(3));
    await expect(create()).rejects.toEqual(fault("NO_SPACE"));
  });
});

describe("an action of a person on a transfer", () => {
  const act = (transferId: string, action: "cancel" | "pause" | "resume" | "retry", requestId = newId()) =>
    callAs(test.hub, "operator").transfers.act({ requestId, transferId, action });

  it("is refused when the node was revoked: nobody would ever hear of it", async () => {
    const { transferId } = await create();
    await callAs(test.hub, "admin").nodes.revoke({ id: target.nodeId });
    await expect(act(transferId, "retry")).rejects.toEqual(fault("NODE_REVOKED"));
    expect((await listed()).map(({ state }) => state)).toEqual(["failed"]);
  });

  it("becomes a command, once", async () => {
    const { transferId } = await create();
    const stream = await open(target);
    await stream.next();
    const requestId = newId();
    await act(transferId, "pause", requestId);
    await act(transferId, "pause", requestId);
    expect(await stream.next()).toMatchObject({ type: "command", command: { kind: "pause", transferId } });
    expect(await test.hub.db.command.count({ where: { kind: "pause" } })).toBe(1);
    await stream.end();
  });

  it("is refused where the state does not allow it", async () => {
    const { transferId } = await create();
    await expect(act(transferId, "resume")).rejects.toEqual(fault("CONFLICT"));
    await expect(act(transferId, "retry")).rejects.toEqual(fault("CONFLICT"));
    await expect(act(newId(), "cancel")).rejects.toEqual(fault("NOT_FOUND"));
  });

  it("cancels at once what a lost node has never heard of", async () => {
    const { transferId } = await create();
    test.advance(31_000);
    await markSilentNodes(test.hub);
    await act(transferId, "cancel");
    expect((await listed())[0]).toMatchObject({ state: "cancelled" });
    const stream = await open(target);
    const next = stream.next();
    test.startClosing();
    await expect(next).rejects.toMatchObject({ code: "SERVICE_UNAVAILABLE" });
  });

  it("lets a restore that failed be tried again, and read again", async () => {
    const { transferId } = await create();
    const [order] = await test.hub.db.command.findMany({ where: { transferId } });
    const ended = { seq: 1, at: 2, type: "command-ended" as const, commandId: order?.id ?? "" };
    const event = { ...ended, outcome: "failed" as const, fault: { code: "LINK_DOWN" as const } };
    await callAs(test.hub, target.caller).node.record({ events: [event] });
    const read = () => callAs(test.hub, target.caller).node.readCheckpoint({ checkpointId: staged.checkpointId });
    await expect(read()).rejects.toEqual(fault("NOT_THIS_NODES"));
    await act(transferId, "retry");
    expect((await listed())[0]).toMatchObject({ state: "waiting", fault: null, endedAt: null });
    await expect(read()).resolves.toHaveProperty("sha256");
  });
});

describe("the list of transfers", () => {
  it("comes page by page, newest first, each once", async () => {
    const ids: string[] = [];
    for (let count = 0; count < 5; count++) ids.push((await create()).transferId);
    const seen: string[] = [];
    let cursor: string | null = null;
    do {
      const page: { rows: { id: string }[]; nextCursor: string | null } = await callAs(
        test.hub,
        "viewer",
      ).transfers.list({ nodeId: target.nodeId, run, states: ["waiting"], cursor, limit: 2 });
      seen.push(...page.rows.map(({ id }) => id));
      cursor = page.nextCursor;
    } while (cursor !== null);
    expect(seen.toSorted()).toEqual(ids.toSorted());
    expect(new Set(seen).size).toBe(5);
  });
});
