import { expect, test } from "vitest";
import type { EventRow, TransferRow } from "#protocol/wire/views.ts";
import { EMPTY_LIVE, mergeLive, messagesOf, type ListMessage } from "./live-merge.ts";
import { livenessOf } from "./live.tsx";
import { nodeRow } from "#protocol/testing/make-node-row.ts";
import { transferRow } from "../transfers/make-transfer-row.ts";

const node = (id: string, upBytesPerSecond = 0) => nodeRow({ id, upBytesPerSecond });

const transfer = (id: string, state: TransferRow["state"]) =>
  transferRow({ id, state, endedAt: state === "done" ? 5 : null });

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

test("a whole list after a reconnection keeps unchanged rows and drops those that are gone", () => {
  const before = mergeLive(EMPTY_LIVE, { type: "nodes", nodes: [node("a"), node("b")] });
  const after = mergeLive(before, { type: "nodes", nodes: [node("a")] });
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
  expect(mergeLive(EMPTY_LIVE, { type: "nodes", nodes: [] }).nodes?.size).toBe(0);
});

test("a tab that joins is told everything the leading tab knows", () => {
  const told: ListMessage[] = [
    { type: "nodes", nodes: [node("a")] },
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
