import { expect, test } from "vitest";
import type { EventRow, LiveMessage, NodeRow, TransferRow } from "#protocol/views.ts";
import { EMPTY_LIVE, mergeLive, messagesOf } from "./live-merge.ts";
import { livenessOf } from "./live.tsx";

const node = (id: string, upBytesPerSecond = 0): NodeRow => ({
  id,
  name: id,
  state: "online",
  lastSeenAt: 1,
  enrolledAt: 1,
  fleet: "default",
  identity: null,
  tokenId: null,
  profileId: null,
  profileName: null,
  facts: {
    hostname: id,
    platform: "linux",
    cpus: 1,
    memoryBytes: 1,
    gpu: null,
    labels: {},
    machineId: null,
    workerVersion: "1",
  },
  work: "safe",
  runs: [],
  risk: { bytes: 0, files: 0, checkpoints: 0, lossMs: 0, steps: 0, oldestUnsafeAt: null },
  safeBytes: 0,
  movedBytes: 0,
  upBytesPerSecond,
  downBytesPerSecond: 0,
  rttMs: null,
  disk: null,
  cpuPercent: null,
  activeTransfers: 0,
  upHistory: [],
});

const transfer = (id: string, state: TransferRow["state"]): TransferRow => ({
  id,
  nodeId: "n",
  nodeName: "n",
  direction: "upload",
  state,
  checkpointId: "c",
  run: "r",
  step: 1,
  bucket: "b",
  place: "b/r",
  bytesDone: 0,
  bytesTotal: 1,
  filesDone: 0,
  filesTotal: 1,
  currentPath: null,
  bytesPerSecond: 0,
  averageBytesPerSecond: 0,
  etaMs: null,
  connections: 0,
  retries: 0,
  pieces: "",
  stalledMs: null,
  fault: null,
  startedBy: "queue",
  createdAt: 1,
  startedAt: null,
  endedAt: state === "done" ? 5 : null,
});

const event = (id: number): EventRow => ({
  id,
  at: id,
  kind: "checkpoint-safe",
  work: "safe",
  nodeId: null,
  nodeName: null,
  run: null,
  step: null,
  text: "",
  detail: null,
  fault: null,
});

test("only the row that changed gets a new identity", () => {
  const before = mergeLive(EMPTY_LIVE, { type: "nodes", whole: true, nodes: [node("a"), node("b")] });
  const after = mergeLive(before, { type: "nodes", whole: false, nodes: [node("a", 5)] });
  expect(after.nodes?.get("b")).toBe(before.nodes?.get("b"));
  expect(after.nodes?.get("a")?.upBytesPerSecond).toBe(5);
});

test("a whole list after a reconnection keeps unchanged rows and drops those that are gone", () => {
  const before = mergeLive(EMPTY_LIVE, { type: "nodes", whole: true, nodes: [node("a"), node("b")] });
  const after = mergeLive(before, { type: "nodes", whole: true, nodes: [node("a")] });
  expect([...(after.nodes?.keys() ?? [])]).toEqual(["a"]);
  expect(after.nodes?.get("a")).toBe(before.nodes?.get("a"));
});

test("a transfer that ended while the page was open survives a new whole list", () => {
  const before = mergeLive(EMPTY_LIVE, {
    type: "transfers",
    whole: true,
    transfers: [transfer("t1", "running"), transfer("t2", "running")],
  });
  const ended = mergeLive(before, { type: "transfers", whole: false, transfers: [transfer("t1", "done")] });
  const after = mergeLive(ended, { type: "transfers", whole: true, transfers: [] });
  expect([...(after.transfers?.keys() ?? [])]).toEqual(["t1"]);
});

test("events are newest first, each once, however often they arrive", () => {
  const one = mergeLive(EMPTY_LIVE, { type: "events", events: [event(2), event(1)] });
  const two = mergeLive(one, { type: "events", events: [event(2), event(3)] });
  expect(two.events?.map((row) => row.id)).toEqual([3, 2, 1]);
});

test("no list yet and an empty list are different", () => {
  expect(EMPTY_LIVE.nodes).toBeNull();
  expect(mergeLive(EMPTY_LIVE, { type: "nodes", whole: true, nodes: [] }).nodes?.size).toBe(0);
});

test("a tab that joins is told everything the leading tab knows", () => {
  const told: LiveMessage[] = [
    { type: "nodes", whole: true, nodes: [node("a")] },
    { type: "transfers", whole: true, transfers: [transfer("t1", "running")] },
    { type: "events", events: [event(1)] },
  ];
  const leading = told.reduce(mergeLive, EMPTY_LIVE);
  expect(messagesOf(leading).reduce(mergeLive, EMPTY_LIVE)).toEqual(leading);
});

test("numbers count as stale when the link is lost for seconds or silent for long", () => {
  const at = 1_000_000;
  const view = { link: "live", lastMessageAt: at, hubAheadMs: 0 } as const;
  expect(livenessOf(view, at + 4000).state).toBe("live");
  expect(livenessOf(view, at + 15_000).state).toBe("stale");
  expect(livenessOf({ ...view, link: "lost" }, at + 4000).state).toBe("stale");
  expect(livenessOf({ ...view, lastMessageAt: null }, at).state).toBe("connecting");
});
