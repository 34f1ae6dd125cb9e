import { describe, expect, it } from "vitest";
import { isPostgres } from "#server/testing/test-database.ts";
import type * as z from "zod";
import { runName } from "#protocol/base/names.ts";
import type { NodeEvent, TransferProgress } from "#protocol/wire/reports.ts";
import type { listTransfersInput } from "#protocol/wire/requests.ts";
import { profileForEach, profileId, test } from "#server/testing/profile-for-each.ts";
import { addTestNode, callAs, facts, report, type TestNode } from "#server/testing/open-test-hub.ts";
import { kindsTold } from "#server/testing/test-words.ts";
import { markSilentNodes } from "#server/http/tick.ts";
import { writeDown } from "../live/write-down.ts";
import { newId } from "#server/platform/random-id.ts";

const run = runName.parse("llama");

profileForEach();

const listed = async () => {
  const query = { nodeId: null, run: null, states: [], cursor: null, limit: 9 };
  return (await callAs(test.hub, "viewer").transfers.list(query)).rows;
};

/** The end of one upload, a failure unless told otherwise. */
const ended = (seq: number, changes: Partial<Extract<NodeEvent, { type: "transfer-ended" }>> = {}): NodeEvent => ({
  type: "transfer-ended",
  seq,
  at: test.hub.now(),
  transferId: "transfer-0001",
  direction: "upload",
  state: "failed",
  checkpointId: "checkpoint-0001",
  run,
  step: 5,
  bytes: 100,
  files: 1,
  sentBytes: 60,
  startedAt: test.hub.now() - 1_000,
  retries: 2,
  connections: 4,
  startedBy: "queue",
  fault: { code: "LINK_DOWN" },
  ...changes,
});

describe("durable events", () => {
  it("are taken once, however often they arrive, also after a restart of the hub", async () => {
    const node = await addTestNode(test.hub, profileId, "gpu");
    const record = (events: NodeEvent[]) => callAs(test.hub, node.caller).node.record({ events });
    expect(await record([ended(1)])).toEqual({ acceptedThrough: 1 });
    expect(await record([ended(1)])).toEqual({ acceptedThrough: 1 });
    await test.restart();
    const second = ended(2, { transferId: "transfer-0002" });
    expect(await record([ended(1), second])).toEqual({ acceptedThrough: 2 });
    expect(await record([ended(1), second])).toEqual({ acceptedThrough: 2 });
    expect((await kindsTold(test)).filter((kind) => kind === "upload-failed")).toHaveLength(2);
    const hello = await callAs(test.hub, node.caller).node.hello({ protocol: 1, bootId: newId(), facts });
    expect(hello).toMatchObject({ acceptedThrough: 2 });
  });

  it("are taken in the order of their numbers", async () => {
    const node = await addTestNode(test.hub, profileId, "gpu");
    const done = ended(2, { state: "done", fault: null });
    await callAs(test.hub, node.caller).node.record({ events: [done, ended(1)] });
    const rows = await listed();
    expect(rows[0]).toMatchObject({ state: "done", bytesDone: 100, fault: null });
  });

  it("cannot change a transfer that is done, nor another node's", async () => {
    const [node, other] = [await addTestNode(test.hub, profileId, "a"), await addTestNode(test.hub, profileId, "b")];
    await callAs(test.hub, node.caller).node.record({ events: [ended(1, { state: "done", fault: null })] });
    await callAs(test.hub, node.caller).node.record({ events: [ended(2)] });
    expect(await callAs(test.hub, other.caller).node.record({ events: [ended(1)] })).toEqual({ acceptedThrough: 1 });
    const rows = await listed();
    expect(rows).toHaveLength(1);
    expect(rows[0]).toMatchObject({ state: "done", nodeName: "a" });
  });
});

describe("the end of a transfer", () => {
  const rows = async () =>
    (await callAs(test.hub, "viewer").transfers.list({ nodeId: null, run: null, states: [], cursor: null, limit: 9 }))
      .rows;

  it("is taken for a capture that was replaced before it was announced", async () => {
    const node = await addTestNode(test.hub, profileId, "gpu");
    const replaced = ended(1, { state: "superseded", fault: null, sentBytes: 0 });
    expect(await callAs(test.hub, node.caller).node.record({ events: [replaced] })).toEqual({ acceptedThrough: 1 });
    expect(await rows()).toMatchObject([
      { state: "superseded", bucket: "training", place: "training/team/runs/llama", bytesDone: 0, bytesTotal: 100 },
    ]);
  });

  it("is news once, also when it is said again under another number", async () => {
    const node = await addTestNode(test.hub, profileId, "gpu");
    const record = (event: NodeEvent) => callAs(test.hub, node.caller).node.record({ events: [event] });
    await record(ended(1));
    expect(await record(ended(2))).toEqual({ acceptedThrough: 2 });
    const failures = async () => (await kindsTold(test)).filter((kind) => kind === "upload-failed");
    expect(await failures()).toHaveLength(1);
    // Tried again, and refused for the same reason: the row says so, and there is nothing new to tell.
    await record(ended(3, { retries: 9, sentBytes: 90 }));
    expect(await failures()).toHaveLength(1);
    expect(await rows()).toMatchObject([{ state: "failed", retries: 9 }]);
    await record(ended(4, { retries: 10, fault: { code: "NO_SUCH_BUCKET" } }));
    expect(await failures()).toHaveLength(2);
  });
});

describe("progress", () => {
  const progress = (changes: Partial<TransferProgress> = {}): TransferProgress => ({
    id: "transfer-0001",
    direction: "upload",
    state: "running",
    checkpointId: "checkpoint-0001",
    run,
    step: 5,
    bytesDone: 1_000_000,
    bytesTotal: 5_000_000,
    filesDone: 0,
    filesTotal: 2,
    currentPath: "model.safetensors",
    bytesPerSecond: 1_000_000,
    startedAt: test.hub.now() - 2_000,
    connections: 4,
    retries: 0,
    pieces: "##>..",
    stalledMs: null,
    fault: null,
    startedBy: "queue",
    ...changes,
  });
  const send = (node: TestNode, ...transfers: TransferProgress[]) =>
    callAs(test.hub, node.caller).node.progress({ ...report(test.hub), transfers });
  const list = () =>
    callAs(test.hub, "viewer").transfers.list({ nodeId: null, run: null, states: [], cursor: null, limit: 9 });

  it("shows a transfer at once, with the time left", async () => {
    const node = await addTestNode(test.hub, profileId, "gpu");
    await send(node, progress());
    expect((await list()).rows[0]).toMatchObject({
      state: "running",
      place: "training/team/runs/llama",
      bytesDone: 1_000_000,
      pieces: "##>..",
      etaMs: 4_000,
    });
  });

  it("that began when no date is any more, by its clock, leaves a row that can be read, also by the next hub", async () => {
    const node = await addTestNode(test.hub, profileId, "gpu");
    const transfers = [progress({ startedAt: 8_640_000_000_000_000 })];
    await callAs(test.hub, node.caller).node.progress({ ...report(test.hub), at: 0, transfers });
    await writeDown(test.hub, "everything");
    const admin = callAs(test.hub, "operator");
    await admin.transfers.act({ requestId: newId(), transferId: "transfer-0001", action: "pause" });
    await test.restart();
    const { rows } = await list();
    expect(rows).toHaveLength(1);
    expect(rows[0]?.startedAt).toBeLessThanOrEqual(test.hub.now());
  });

  // Versions that stored such dates ran on SQLite alone.
  it.skipIf(isPostgres)(
    "whose start was written as no date before that was bounded is read by the next hub",
    async () => {
      await send(await addTestNode(test.hub, profileId, "gpu"), progress());
      await test.hub.db.$executeRaw`UPDATE "Transfer" SET "startedAt" = 8640000000000001`;
      await test.stop();
      await test.start();
      expect((await list()).rows).toMatchObject([{ id: "transfer-0001" }]);
    },
  );

  it("marks the pieces that are tried again", async () => {
    const node = await addTestNode(test.hub, profileId, "gpu");
    await send(node, progress({ triedAgain: [1, 3] }));
    expect((await list()).rows[0]).toMatchObject({ pieces: "##>!." });
  });

  it("is found by node, run, direction and the days on which it began", async () => {
    const [node, other] = [
      await addTestNode(test.hub, profileId, "gpu-1"),
      await addTestNode(test.hub, profileId, "a"),
    ];
    await send(node, progress());
    test.advance(60_000);
    const between = test.hub.now();
    const later = { id: "transfer-0002", direction: "verify" as const, run: runName.parse("mistral") };
    await send(other, progress(later));
    const found = async (search: Partial<z.input<typeof listTransfersInput>>) => {
      const all = { nodeId: null, run: null, states: [], cursor: null, limit: 9 };
      return (await callAs(test.hub, "viewer").transfers.list({ ...all, ...search })).rows.map(
        ({ nodeName }) => nodeName,
      );
    };
    expect(await found({})).toEqual(["a", "gpu-1"]);
    expect(await found({ nodeWords: "PU-" })).toEqual(["gpu-1"]);
    expect(await found({ runWords: "mist" })).toEqual(["a"]);
    expect(await found({ run, runWords: "mist" })).toEqual([]);
    expect(await found({ directions: ["verify", "drill"] })).toEqual(["a"]);
    expect(await found({ from: between })).toEqual(["a"]);
    expect(await found({ to: between })).toEqual(["gpu-1"]);
  });

  it("is found by its state at once", async () => {
    const node = await addTestNode(test.hub, profileId, "gpu");
    const inState = async (state: "waiting" | "running" | "paused") => {
      const query = { nodeId: null, run: null, states: [state], cursor: null, limit: 9 };
      return (await callAs(test.hub, "viewer").transfers.list(query)).rows.map((row) => row.state);
    };
    for (const state of ["waiting", "running", "paused", "running"] as const) {
      await send(node, progress({ state }));
      for (const asked of ["waiting", "running", "paused"] as const) {
        expect(await inState(asked)).toEqual(asked === state ? [state] : []);
      }
    }
  });

  it("that arrives behind the failure it is older than does not take the transfer up again", async () => {
    const node = await addTestNode(test.hub, profileId, "gpu");
    await send(node, progress());
    const said = { ...report(test.hub), transfers: [progress({ bytesDone: 2_000_000 })] };
    const end = { seq: 1, at: said.at + 5, transferId: "transfer-0001", direction: "upload" as const };
    const rest = { checkpointId: "checkpoint-0001", run, step: 5, bytes: 5_000_000, files: 2, sentBytes: 2_000_000 };
    const more = { startedAt: said.at - 9, retries: 0, connections: 4, startedBy: "queue" as const };
    const fault = { code: "ACCESS_DENIED" as const };
    const event = { type: "transfer-ended" as const, state: "failed" as const, ...end, ...rest, ...more, fault };
    await callAs(test.hub, node.caller).node.record({ events: [event] });
    await callAs(test.hub, node.caller).node.progress(said);
    expect((await list()).rows[0]).toMatchObject({ state: "failed", fault });
    await callAs(test.hub, node.caller).node.progress({ ...said, seq: said.seq + 1, at: said.at + 6 });
    expect((await list()).rows[0]).toMatchObject({ state: "running" });
  });

  it("that was overtaken on its way does not replace a newer one", async () => {
    const node = await addTestNode(test.hub, profileId, "gpu");
    const older = { ...report(test.hub), transfers: [progress({ bytesDone: 1_000_000 })] };
    const newer = { ...older, seq: older.seq + 1, transfers: [progress({ bytesDone: 3_000_000 })] };
    for (const said of [newer, older]) await callAs(test.hub, node.caller).node.progress(said);
    expect((await list()).rows[0]).toMatchObject({ bytesDone: 3_000_000 });
  });

  it("survives a clean restart of the hub", async () => {
    const node = await addTestNode(test.hub, profileId, "gpu");
    await send(node, progress({ bytesDone: 2_000_000 }));
    await test.restart();
    expect((await list()).rows[0]).toMatchObject({ state: "running", bytesDone: 2_000_000 });
    await send(node, progress({ bytesDone: 3_000_000 }));
    expect((await list()).rows).toHaveLength(1);
  });

  it("leaves no frozen speed behind when its node falls silent", async () => {
    const node = await addTestNode(test.hub, profileId, "gpu");
    await send(node, progress());
    test.advance(31_000);
    await markSilentNodes(test.hub);
    expect((await list()).rows[0]).toMatchObject({ state: "running", bytesPerSecond: 0, etaMs: null, connections: 0 });
    const [row] = await callAs(test.hub, "viewer").nodes.list();
    expect(row).toMatchObject({ upBytesPerSecond: 0, activeTransfers: 0 });
  });

  it("of a transfer that is over changes nothing", async () => {
    const node = await addTestNode(test.hub, profileId, "gpu");
    await send(node, progress());
    const end = { seq: 1, at: test.hub.now(), transferId: "transfer-0001", direction: "upload" as const };
    const rest = { checkpointId: "checkpoint-0001", run, step: 5, bytes: 5_000_000, files: 2, sentBytes: 5_000_000 };
    const more = {
      startedAt: test.hub.now() - 9,
      retries: 0,
      connections: 4,
      startedBy: "queue" as const,
      fault: null,
    };
    const event = { type: "transfer-ended" as const, state: "done" as const, ...end, ...rest, ...more };
    await callAs(test.hub, node.caller).node.record({ events: [event] });
    await send(node, progress({ bytesDone: 4_000_000 }));
    expect((await list()).rows[0]).toMatchObject({ state: "done", bytesDone: 5_000_000 });
  });

  it("of another node's transfer changes nothing", async () => {
    const [node, other] = [await addTestNode(test.hub, profileId, "a"), await addTestNode(test.hub, profileId, "b")];
    await send(node, progress());
    await send(other, progress({ bytesDone: 0, state: "paused" }));
    expect((await list()).rows[0]).toMatchObject({ nodeName: "a", state: "running", bytesDone: 1_000_000 });
  });
});
