import { afterEach, beforeEach, describe, expect, it } from "vitest";
import { filePath, runName } from "#protocol/base/names.ts";
import type { NodeEvent } from "#protocol/wire/reports.ts";
import type { TransferDirection } from "#protocol/wire/transfer.ts";
import { makeSafe, run, type Staged } from "#server/testing/stage-checkpoint.ts";
import { expireCommands } from "../commands/expire.ts";
import { addTestNode, addTestProfile, callAs, report, type TestNode } from "#server/testing/open-test-hub.ts";
import { fault } from "#server/testing/match-fault.ts";
import { newId } from "#server/platform/random-id.ts";
import { endOf, epoch, profileId, store, test, writer, writerForEach } from "#server/testing/writer-for-each.ts";
import { runDrills } from "./run-drills.ts";

const DAY_MS = 86_400_000;
let reader: TestNode;
let older: Staged;
let newer: Staged;
let closeStreams: (() => Promise<void>)[];
writerForEach();
beforeEach(async () => {
  closeStreams = [];
  reader = await addTestNode(test.hub, profileId, "reader");
  older = await makeSafe(test.hub, writer, { epoch, step: 400 });
  newer = await makeSafe(test.hub, writer, { epoch, step: 500 });
});
afterEach(async () => {
  for (const close of closeStreams) await close();
});

let seq = 0;
interface Told {
  direction: TransferDirection;
  transferId: string;
  staged?: Staged;
  state?: "done" | "failed";
  rest?: Partial<Extract<NodeEvent, { type: "transfer-ended" }>>;
}
/** The end of a transfer as its node tells it. */
const tell = async (node: TestNode, { direction, transferId, staged = newer, state = "done", rest = {} }: Told) => {
  const event: NodeEvent = { ...endOf(staged, { seq: ++seq, transferId, direction }), state, ...rest };
  await callAs(test.hub, node.caller).node.record({ events: [event] });
};
const damage = {
  fault: { code: "CHECKPOINT_DAMAGED" as const },
  damage: {
    ranges: [
      { path: filePath.parse("model.safetensors"), from: 0, to: 17, fault: { code: "CHECKSUM_MISMATCH" as const } },
    ],
    more: 0,
  },
};
const verify = (changes: object = {}) =>
  callAs(test.hub, "operator").checkpoints.verify({
    requestId: newId(),
    checkpointId: newer.checkpointId,
    nodeId: reader.nodeId,
    ...changes,
  });
const get = (staged = newer) => callAs(test.hub, "viewer").checkpoints.get({ id: staged.checkpointId });
const events = async () =>
  (await callAs(test.hub, "viewer").events.list({ nodeId: null, run, cursor: null, limit: 50 })).rows;
const restore = (changes: object = {}) =>
  callAs(test.hub, "operator").restores.start({
    requestId: newId(),
    checkpointId: newer.checkpointId,
    nodeIds: [reader.nodeId],
    targetPath: "/data/checkpoint-500",
    ...changes,
  });

describe("verifying", () => {
  it("is a command to one node, once, and shows as a transfer that verifies", async () => {
    const requestId = newId();
    const [first, second] = await Promise.all([verify({ requestId }), verify({ requestId })]);
    expect(second).toEqual(first);
    expect(await test.hub.db.command.count({ where: { kind: "verify" } })).toBe(1);
    expect((await get()).checks).toMatchObject([
      { id: first.transferId, direction: "verify", state: "waiting", nodeId: reader.nodeId },
    ]);
    await callAs(test.hub, reader.caller).node.readCheckpoint({ checkpointId: newer.checkpointId });
  });

  it("that ended well says when every byte was right", async () => {
    const { transferId } = await verify();
    await tell(reader, { direction: "verify", transferId });
    const view = await get();
    expect(view.verifiedAt).toBeGreaterThan(0);
    expect(view.damage).toBeNull();
    expect((await events())[0]).toMatchObject({ kind: "checkpoint-verified", nodeName: reader.name });
    expect(await test.hub.db.linkRecord.count()).toBe(0);
  });

  it("that found damage is shown wherever the checkpoint is offered, and the one before is offered in its place", async () => {
    const { transferId } = await verify();
    await tell(reader, { direction: "verify", transferId, state: "failed", rest: damage });
    const view = await get();
    expect(view.damage).toMatchObject({ ranges: [{ path: "model.safetensors", from: 0, to: 17 }] });
    expect(view.isNewest).toBe(false);
    expect((await get(older)).isNewest).toBe(true);
    expect((await events())[0]).toMatchObject({
      kind: "checkpoint-damaged",
      text: "found step 500 of llama damaged: model.safetensors, bytes 0 to 17",
    });
    const plan = await callAs(test.hub, "viewer").restores.plan({ checkpointId: newer.checkpointId, nodeId: null });
    expect(plan).toMatchObject({
      refusal: { code: "CHECKPOINT_DAMAGED" },
      instead: { checkpointId: older.checkpointId, step: 400 },
    });
    await expect(restore()).rejects.toEqual(fault("CHECKPOINT_DAMAGED"));
    expect(await callAs(test.hub, writer.caller).node.findCheckpoint({ run })).toMatchObject({ step: 400 });
    const again = await verify();
    await tell(reader, { direction: "verify", transferId: again.transferId });
    expect(await get()).toMatchObject({ damage: null, isNewest: true });
  });

  it("counts only from a node that was asked", async () => {
    const stranger = await addTestNode(test.hub, profileId, "stranger");
    await tell(stranger, { direction: "verify", transferId: newId(), state: "failed", rest: damage });
    await tell(stranger, { direction: "verify", transferId: newId(), staged: older });
    expect((await get()).damage).toBeNull();
    expect((await get(older)).verifiedAt).toBeNull();
  });

  it("is refused where no node could do it, and for what is not complete", async () => {
    await expect(verify({ checkpointId: "no-such-checkpoint" })).rejects.toEqual(fault("NOT_FOUND"));
    const elsewhere = await addTestProfile(test.hub, store.endpoint, { name: "elsewhere" });
    const other = await addTestNode(test.hub, elsewhere, "elsewhere");
    await expect(verify({ nodeId: other.nodeId })).rejects.toEqual(fault("CONFLICT"));
    await callAs(test.hub, "admin").nodes.revoke({ id: reader.nodeId });
    await expect(verify()).rejects.toEqual(fault("NODE_REVOKED"));
  });

  it("that its node never heard of ends, and says why", async () => {
    await verify();
    test.advance(DAY_MS + 1);
    await expireCommands(test.hub);
    expect((await get()).checks).toMatchObject([{ state: "failed", fault: { code: "EXPIRED" } }]);
  });
});

describe("a restore", () => {
  it("of all files verifies, a part of them does not", async () => {
    const transferId = (await restore()).restores[0]?.transferId ?? "";
    await tell(reader, { direction: "download", transferId, rest: { isPartial: true } });
    expect((await get()).verifiedAt).toBeNull();
    const whole = (await restore({ nodeIds: [writer.nodeId] })).restores[0]?.transferId ?? "";
    await tell(writer, { direction: "download", transferId: whole });
    expect((await get()).verifiedAt).not.toBeNull();
  });

  it("whose checkpoint turns out damaged falls back to the complete one before it, once, and says why", async () => {
    const transferId = (await restore({ mayFallBack: true })).restores[0]?.transferId ?? "";
    await tell(reader, { direction: "download", transferId, state: "failed", rest: damage });
    const rows = await test.hub.db.queuedRestore.findMany({ where: { checkpointId: older.checkpointId } });
    expect(rows.map(({ body }) => JSON.parse(body) as unknown)).toMatchObject([
      { checkpointId: older.checkpointId, step: 400, targetPath: "/data/checkpoint-400" },
    ]);
    const said = (await events()).filter(({ text }) => text.startsWith("falls back"));
    expect(said.map(({ text }) => text)).toEqual([
      "falls back to step 400 of llama: step 500 is damaged (model.safetensors, bytes 0 to 17)",
    ]);
  });

  it("falls back only where that was allowed, and not for a link that is down", async () => {
    const strict = (await restore({ mayFallBack: false })).restores[0]?.transferId ?? "";
    await tell(reader, { direction: "download", transferId: strict, state: "failed", rest: damage });
    const other = (await restore({ checkpointId: older.checkpointId, nodeIds: [writer.nodeId], mayFallBack: true }))
      .restores;
    const rest = { fault: { code: "LINK_DOWN" as const } };
    await tell(writer, {
      direction: "download",
      transferId: other[0]?.transferId ?? "",
      staged: older,
      state: "failed",
      rest,
    });
    expect(await test.hub.db.queuedRestore.count()).toBe(2);
  });
});

describe("restore drills", () => {
  /** Idle, with room, and listening. */
  const ready = async (node: TestNode, changes: object = {}) => {
    await callAs(test.hub, node.caller).node.progress({
      ...report(test.hub),
      disk: { freeBytes: 1_000_000, totalBytes: 2_000_000, path: "/data" },
      ...changes,
    });
    const stream = await callAs(test.hub, node.caller).node.stream({ bootId: newId() });
    const lines = (stream as AsyncIterable<unknown>)[Symbol.asyncIterator]();
    await lines.next();
    closeStreams.push(async () => void (await lines.return?.(undefined)));
  };
  const set = (everyMs: number | null, of: string | null = null) =>
    callAs(test.hub, "operator").drills.set({ run: of === null ? null : runName.parse(of), everyMs });
  const view = () => callAs(test.hub, "viewer").drills.get({ run });
  const none = { safeStep: null, safeAt: null, safeBytes: 0, localStep: null, localAt: null, intervalMs: null };
  const unsafe = { unsafeCheckpoints: 1, unsafeFiles: 1, unsafeBytes: 5, movedBytes: 0, oldestUnsafeAt: 1 };
  const untold = { trainedStep: null, trainedAt: null, idleMs: 0, leastIntervalMs: null };
  const backlog = { run, writerEpoch: 1, startedAt: 1, ...none, ...unsafe, ...untold };
  const drills = () => test.hub.db.transfer.findMany({ where: { direction: "drill" }, orderBy: { createdAt: "asc" } });

  it("come as often as was set, on an idle node, and their end is history", async () => {
    await ready(reader);
    await set(7 * DAY_MS);
    const [drill] = await drills();
    expect(drill).toMatchObject({ nodeId: reader.nodeId, checkpointId: newer.checkpointId, state: "waiting" });
    await tell(reader, { direction: "drill", transferId: drill?.id ?? "" });
    expect((await get()).verifiedAt).not.toBeNull();
    await runDrills(test.hub);
    expect(await drills()).toHaveLength(1);
    const { last, nextAt, everyMs, setFor } = await view();
    expect(last).toMatchObject([{ direction: "drill", state: "done" }]);
    expect({ everyMs, setFor }).toEqual({ everyMs: 7 * DAY_MS, setFor: "all" });
    expect(nextAt).toBe((drill?.createdAt.getTime() ?? 0) + 7 * DAY_MS);
    test.advance(7 * DAY_MS + 1_000);
    await callAs(test.hub, reader.caller).node.progress(report(test.hub));
    await runDrills(test.hub);
    expect(await drills()).toHaveLength(2);
  });

  it("never run on a node with something to make safe, and say what they wait for", async () => {
    await ready(reader, { runs: [backlog] });
    await set(DAY_MS);
    expect(await drills()).toEqual([]);
    expect((await view()).waitsFor).toBe("a node that is online, has room and nothing to do");
    await callAs(test.hub, reader.caller).node.progress(report(test.hub));
    await runDrills(test.hub);
    expect(await drills()).toHaveLength(1);
  });

  it("never run two at once from a bucket", async () => {
    await ready(reader);
    await ready(writer);
    await test.hub.db.run.create({ data: { name: "mistral", profileId, createdAt: new Date(1) } });
    await test.hub.db.checkpoint.updateMany({ where: { id: older.checkpointId }, data: { run: "mistral" } });
    await set(DAY_MS);
    await runDrills(test.hub);
    expect(await drills()).toHaveLength(1);
    const [first] = await drills();
    await tell(reader, { direction: "drill", transferId: first?.id ?? "" });
    await tell(writer, { direction: "drill", transferId: first?.id ?? "" });
    await runDrills(test.hub);
    expect((await drills()).map((row) => row.run)).toEqual(expect.arrayContaining(["llama", "mistral"]));
  });

  it("of a run that cannot be drilled hold up no other, and fail nobody who sets a rule", async () => {
    await ready(reader);
    await test.hub.db.run.create({ data: { name: "a bad name!", profileId, createdAt: new Date(1) } });
    await test.hub.db.checkpoint.updateMany({ where: { id: older.checkpointId }, data: { run: "a bad name!" } });
    await set(DAY_MS);
    expect((await drills()).map((row) => row.run)).toEqual(["llama"]);
  });

  it("of one run may be set apart from the others, also to never", async () => {
    await ready(reader);
    await set(0, "llama");
    await set(DAY_MS);
    expect(await drills()).toEqual([]);
    expect(await view()).toMatchObject({ everyMs: 0, setFor: "run", usualMs: DAY_MS, nextAt: null });
    await set(null, "llama");
    expect(await drills()).toHaveLength(1);
    await expect(set(1_000)).rejects.toMatchObject({ code: "BAD_REQUEST" });
  });

  it("that nobody took up do not count, and one whose node is lost is made up for on another", async () => {
    await ready(reader);
    await set(DAY_MS);
    test.advance(600_001);
    await expireCommands(test.hub);
    expect((await drills()).map(({ state }) => state)).toEqual(["cancelled"]);
    await callAs(test.hub, reader.caller).node.progress(report(test.hub));
    await runDrills(test.hub);
    expect((await drills()).map(({ state }) => state)).toEqual(["cancelled", "waiting"]);
  });

  it("that failed raise the alert about failed restores", async () => {
    await ready(reader);
    await set(DAY_MS);
    const [drill] = await drills();
    await tell(reader, { direction: "drill", transferId: drill?.id ?? "", state: "failed", rest: damage });
    const { findStored } = await import("../alerts/find-stored.ts");
    const rule = [...test.hub.alerts.rules.values()].find(({ condition }) => condition.kind === "restore-failed");
    if (rule === undefined) throw new Error("no such rule");
    const found = await findStored(test.hub, rule);
    expect(found).toMatchObject([
      { text: expect.stringContaining("could not rehearse a restore of step 500 of llama") },
    ]);
  });
});
