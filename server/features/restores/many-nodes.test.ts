import { beforeEach, expect, it } from "vitest";
import { command, type NodeMessage } from "#protocol/wire/commands.ts";
import type { NodeEvent } from "#protocol/wire/reports.ts";
import { announce, makeSafe, manifestOf, upload, type Staged } from "#server/testing/stage-checkpoint.ts";
import { addTestNode, callAs, report, type TestNode } from "#server/testing/open-test-hub.ts";
import { fault } from "#server/testing/match-fault.ts";
import { createMailbox, type Mailbox } from "#server/core/live/live-node.ts";
import { markSilentNodes } from "#server/http/tick.ts";
import { newId } from "#server/platform/random-id.ts";
import { releaseRestores } from "./release-restores.ts";
import { endOf, epoch, profileId, test, writer, writerForEach } from "#server/testing/writer-for-each.ts";

let staged: Staged;
writerForEach();
beforeEach(async () => {
  staged = await makeSafe(test.hub, writer, { epoch, step: 500 });
});

/** A node as the hub sees one: it takes commands, tells how far it is, and says how they ended. */
class Simulated {
  readonly node: TestNode;
  isDead = false;
  /** Of the restore that goes on. */
  transferId: string | null = null;
  ended: string[] = [];
  #beats = 0;
  #seq = 0;
  #commandId = "";
  #needs: number;
  constructor(node: TestNode, needs: number) {
    this.node = node;
    this.#needs = needs;
  }

  take(message: NodeMessage): void {
    if (message.type !== "command" || message.command.kind !== "restore" || this.isDead) return;
    if (message.command.id === this.#commandId) return;
    if (this.transferId !== null) throw new Error("a second restore before the first one ended");
    this.transferId = message.command.transferId;
    this.#commandId = message.command.id;
    this.#beats = 0;
  }

  /** One second of its life. */
  async beat(): Promise<void> {
    if (this.isDead) return;
    const { hub } = test;
    const caller = callAs(hub, this.node.caller).node;
    if (this.transferId === null || ++this.#beats < this.#needs) {
      await caller.progress(report(hub));
      return;
    }
    const at = hub.now();
    const events: NodeEvent[] = [
      endOf(staged, { seq: ++this.#seq, transferId: this.transferId, direction: "download" }),
      { at, seq: ++this.#seq, type: "command-ended", commandId: this.#commandId, outcome: "done", fault: null },
    ];
    await caller.record({ events });
    this.ended.push(this.transferId);
    this.transferId = null;
  }
}

/** Gives each a connection: it hears the commands that have not ended, then what is sent. */
async function connect(nodes: readonly Simulated[]): Promise<Map<Simulated, Mailbox>> {
  const open = await test.hub.db.command.findMany({ where: { endedAt: null }, orderBy: { createdAt: "asc" } });
  const boxes = new Map<Simulated, Mailbox>();
  for (const one of nodes) {
    const mailbox = createMailbox(null);
    const mine = open.filter(({ nodeId }) => nodeId === one.node.nodeId);
    mailbox.messages = mine.map(({ body }) => ({ type: "command", command: command.parse(JSON.parse(body)) }));
    test.hub.live.nodes.get(one.node.nodeId)?.mailboxes.add(mailbox);
    boxes.set(one, mailbox);
  }
  return boxes;
}

const start = (nodeIds: readonly string[], changes: object = {}) =>
  callAs(test.hub, "operator").restores.start({
    requestId: newId(),
    checkpointId: staged.checkpointId,
    nodeIds: [...nodeIds],
    targetPath: "/data/llama/checkpoint-500",
    ...changes,
  });

it("fifty nodes restore at once: the cap holds at every moment, all arrive, and one that dies holds nobody up", async () => {
  const CAP = 5;
  await callAs(test.hub, "operator").restores.setCap({ profileId, atOnce: CAP });
  const nodes: Simulated[] = [];
  for (let index = 0; index < 50; index++) {
    const node = await addTestNode(test.hub, profileId, `sim-${String(index).padStart(2, "0")}`);
    nodes.push(new Simulated(node, 3 + (index % 4)));
  }
  let boxes = await connect(nodes);
  const { restores } = await start(nodes.map(({ node }) => node.nodeId));
  expect(restores.every(({ transferId }) => transferId !== null)).toBe(true);
  const doomed = nodes[3];
  let most = 0;
  let order: string[] = [];
  const alive = () => nodes.filter((one) => one !== doomed);
  for (let second = 0; second < 400 && alive().some(({ ended }) => ended.length === 0); second++) {
    await releaseRestores(test.hub);
    for (const [one, mailbox] of boxes) for (const message of mailbox.messages.splice(0)) one.take(message);
    const moving = nodes.filter(({ transferId, isDead }) => transferId !== null && !isDead);
    most = Math.max(most, moving.length);
    expect(moving.length).toBeLessThanOrEqual(CAP);
    order = [...order, ...moving.map(({ node }) => node.name).filter((name) => !order.includes(name))];
    // It took its restore, and then its power went.
    if (doomed?.transferId != null) doomed.isDead = true;
    for (const one of nodes) await one.beat();
    test.advance(1_000);
    await markSilentNodes(test.hub);
    if (second === 8) {
      await test.restart();
      boxes = await connect(nodes);
    }
  }
  expect(doomed?.isDead).toBe(true);
  expect(alive().map(({ ended }) => ended.length)).toEqual(Array.from({ length: 49 }, () => 1));
  expect(most).toBe(CAP);
  // Nobody is passed over: they come in their order.
  expect(order).toEqual(order.toSorted());
  const states = await test.hub.db.transfer.groupBy({
    by: ["state"],
    where: { direction: "download" },
    _count: true,
  });
  expect(Object.fromEntries(states.map(({ state, _count: all }) => [state, all]))).toMatchObject({ done: 49 });
});

it("the same request again is the same restores, and a node that cannot take it is answered for itself", async () => {
  const one = await addTestNode(test.hub, profileId, "gpu-1");
  const gone = await addTestNode(test.hub, profileId, "gpu-2");
  await callAs(test.hub, "admin").nodes.revoke({ id: gone.nodeId });
  const requestId = newId();
  const { restores } = await start([one.nodeId, gone.nodeId, "no-such-node"], { requestId });
  expect(restores).toMatchObject([
    { nodeName: "gpu-1", fault: null },
    { nodeName: "gpu-2", transferId: null, fault: { code: "NODE_REVOKED" } },
    { nodeName: null, transferId: null, fault: { code: "NOT_FOUND" } },
  ]);
  const again = await start([one.nodeId], { requestId });
  expect(again.restores).toMatchObject([{ transferId: restores[0]?.transferId }]);
  expect(await test.hub.db.transfer.count({ where: { direction: "download" } })).toBe(1);
});

it("waits for its turn, and can be paused, let go on and cancelled there without its node", async () => {
  await callAs(test.hub, "operator").restores.setCap({ profileId, atOnce: 1 });
  const nodes = [await addTestNode(test.hub, profileId, "gpu-1"), await addTestNode(test.hub, profileId, "gpu-2")];
  const { restores } = await start(nodes.map(({ nodeId }) => nodeId));
  const second = restores[1]?.transferId ?? "";
  const act = (action: "pause" | "resume" | "cancel") =>
    callAs(test.hub, "operator").transfers.act({ requestId: newId(), transferId: second, action });
  const stateNow = async () => (await test.hub.db.transfer.findUniqueOrThrow({ where: { id: second } })).state;
  const told = () => test.hub.db.command.count({ where: { kind: "restore" } });
  expect(await told()).toBe(1);
  await act("pause");
  expect(await stateNow()).toBe("paused");
  await callAs(test.hub, "operator").restores.setCap({ profileId, atOnce: 2 });
  expect(await told()).toBe(1);
  await act("resume");
  await releaseRestores(test.hub);
  expect(await told()).toBe(2);
  const third = (await start([nodes[1]?.nodeId ?? ""])).restores[0]?.transferId ?? "";
  await callAs(test.hub, "operator").transfers.act({ requestId: newId(), transferId: third, action: "cancel" });
  await releaseRestores(test.hub);
  expect(await told()).toBe(2);
});

it("fails before its turn, for pages too, when its checkpoint is not complete any more", async () => {
  await callAs(test.hub, "operator").restores.setCap({ profileId, atOnce: 1 });
  const nodes = [await addTestNode(test.hub, profileId, "gpu-1"), await addTestNode(test.hub, profileId, "gpu-2")];
  const { restores } = await start(nodes.map(({ nodeId }) => nodeId));
  const second = restores[1]?.transferId ?? "";
  await test.hub.db.checkpoint.update({ where: { id: staged.checkpointId }, data: { state: "trashed" } });
  await callAs(test.hub, "operator").restores.setCap({ profileId, atOnce: 2 });
  await releaseRestores(test.hub);
  const asked = { nodeId: null, run: null, states: [], cursor: null, limit: 10 };
  const { rows } = await callAs(test.hub, "viewer").transfers.list(asked);
  expect(rows.find(({ id }) => id === second)).toMatchObject({
    state: "failed",
    fault: { code: "CHECKPOINT_INCOMPLETE" },
  });
  const events = await callAs(test.hub, "viewer").events.list({
    nodeId: null,
    run: null,
    cursor: null,
    limit: 20,
    kinds: ["restore-failed"],
  });
  expect(events.rows).toMatchObject([{ nodeName: "gpu-2", step: 500 }]);
});

it("takes only the files that were chosen, and refuses names that are not there", async () => {
  const files = [
    { path: "a.bin", text: "aaaa" },
    { path: "b.bin", text: "bbbbbb" },
  ];
  const two = await announce(test.hub, writer, { epoch: staged.epoch, step: 600, files });
  const etags = await upload(test.hub, writer, two);
  await callAs(test.hub, writer.caller).node.commit({ manifest: manifestOf(test.hub, writer, { staged: two, etags }) });
  const node = await addTestNode(test.hub, profileId, "gpu-1");
  const about = { checkpointId: two.checkpointId };
  const plan = await callAs(test.hub, "viewer").restores.plan({ ...about, nodeId: null, choice: { files: ["b.bin"] } });
  expect(plan).toMatchObject({ chosen: { files: 1, bytes: 6 }, requests: 1, refusal: null, cost: null });
  const { restores } = await start([node.nodeId], { ...about, choice: { files: ["b.bin"] } });
  const command = await test.hub.db.command.findFirstOrThrow({ where: { transferId: restores[0]?.transferId ?? "" } });
  expect(JSON.parse(command.body)).toMatchObject({ kind: "restore", files: ["b.bin"] });
  await expect(start([node.nodeId], { ...about, choice: { files: ["c.bin"] } })).rejects.toEqual(fault("NOT_FOUND"));
  await expect(start([node.nodeId], { ...about, choice: { rank: 0, of: 2 } })).rejects.toEqual(fault("BAD_INPUT"));
});

it("a target outside of what a path may be is refused before anything is asked of a node", async () => {
  const node = await addTestNode(test.hub, profileId, "gpu-1");
  for (const targetPath of ["relative", "/a/../etc", "/"]) {
    await expect(start([node.nodeId], { targetPath })).rejects.toMatchObject({ code: "BAD_REQUEST" });
  }
});
