import { expect, test } from "vitest";
import { TRANSFER_STATES } from "#protocol/transfer.ts";
import type { TransferRow } from "#protocol/views.ts";
import { TRANSFER_FILTERS, transferFilterOf, transfersShown } from "./transfer-filter.ts";

const row = (id: string, over: Partial<TransferRow>): TransferRow => ({
  id,
  nodeId: "n",
  nodeName: "n",
  direction: "upload",
  state: "running",
  checkpointId: "c",
  run: "r",
  step: 1,
  bucket: "b",
  place: "p",
  bytesDone: 0,
  bytesTotal: 0,
  filesDone: 0,
  filesTotal: 0,
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
  createdAt: 0,
  startedAt: null,
  endedAt: null,
  ...over,
});

test("every state belongs to exactly one filter", () => {
  const states = TRANSFER_FILTERS.flatMap((filter) => [...filter.states]);
  expect([...states].sort()).toEqual([...TRANSFER_STATES].sort());
});

test("a transfer that has just ended leaves the list of those that run, although the stored page still has it", () => {
  const shown = transfersShown({
    filter: transferFilterOf("now"),
    stored: [row("a", {}), row("b", { startedAt: 2 })],
    live: [row("a", { state: "done", endedAt: 9 })],
  });
  expect(shown.map((one) => one.id)).toEqual(["b"]);
});

test("ended ones are newest first, running ones stay in the order they started", () => {
  const done = [row("a", { state: "done", endedAt: 1 }), row("b", { state: "done", endedAt: 5 })];
  expect(transfersShown({ filter: transferFilterOf("done"), stored: done, live: [] }).map((one) => one.id)).toEqual([
    "b",
    "a",
  ]);
  const running = [row("z", { startedAt: 1 }), row("a", { startedAt: 5 })];
  expect(transfersShown({ filter: transferFilterOf("now"), stored: [], live: running }).map((one) => one.id)).toEqual([
    "z",
    "a",
  ]);
});
