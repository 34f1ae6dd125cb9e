import { expect, test } from "vitest";
import { TRANSFER_STATES } from "#protocol/wire/transfer-kinds.ts";
import type { TransferRow, NodeState } from "#protocol/wire/views.ts";
import { transferRow } from "../_hub/transfers/make-transfer-row.ts";
import {
  countShown,
  fitsSearch,
  NO_SEARCH,
  TRANSFER_FILTERS,
  transferFilterOf,
  transfersShown,
  type TransferSearch,
} from "./transfer-filter.ts";

const row = (id: string, over: Partial<TransferRow>) => transferRow({ id, ...over });

const kept = new Set<string>();
const stateOfNode = (): NodeState => "online";

test("every state belongs to exactly one filter, and to that of all", () => {
  const states = TRANSFER_FILTERS.filter(({ id }) => id !== "all").flatMap((filter) => [...filter.states]);
  expect([...states].sort()).toEqual([...TRANSFER_STATES].sort());
});

test("a transfer that has just ended leaves the list of those that run, although the stored page still has it", () => {
  const shown = transfersShown({
    filter: transferFilterOf("now"),
    stored: [row("a", {}), row("b", { startedAt: 2 })],
    live: [row("a", { state: "done", endedAt: 9 })],
    kept,
    stateOfNode,
  });
  expect(shown.map((one) => one.id)).toEqual(["b"]);
});

test("ended ones are newest first, running ones stay in the order they started", () => {
  const done = [row("a", { state: "done", endedAt: 1 }), row("b", { state: "done", endedAt: 5 })];
  expect(
    transfersShown({ filter: transferFilterOf("done"), stored: done, live: [], kept, stateOfNode }).map(
      (one) => one.id,
    ),
  ).toEqual(["b", "a"]);
  const running = [row("z", { startedAt: 1 }), row("a", { startedAt: 5 })];
  expect(
    transfersShown({ filter: transferFilterOf("now"), stored: [], live: running, kept, stateOfNode }).map(
      (one) => one.id,
    ),
  ).toEqual(["z", "a"]);
});

test.each<NodeState>(["unconfirmed", "silent", "offline", "revoked"])(
  "what was running on a node that is %s is not among those that move, but among those that wait",
  (state) => {
    const live = [row("a", {})];
    const parts = { stored: [], live, kept, stateOfNode: () => state };
    expect(transfersShown({ ...parts, filter: transferFilterOf("now") })).toEqual([]);
    expect(countShown(transferFilterOf("now"), live, () => state)).toBe(0);
    expect(transfersShown({ ...parts, filter: transferFilterOf("waiting") })).toEqual(live);
    expect(countShown(transferFilterOf("waiting"), live, () => state)).toBe(1);
  },
);

test("what a person has just paused stays where it was", () => {
  const live = [row("a", { state: "paused", startedAt: 1 }), row("b", { startedAt: 2 })];
  const shown = transfersShown({
    filter: transferFilterOf("now"),
    stored: [],
    live,
    kept: new Set(["a"]),
    stateOfNode,
  });
  expect(shown.map((one) => one.id)).toEqual(["a", "b"]);
});

test.each<[string, Partial<TransferSearch>, boolean]>([
  ["everything", {}, true],
  ["part of the node's name", { node: "GPU" }, true],
  ["another node", { node: "gpu-8" }, false],
  ["part of the run's name", { run: "lla" }, true],
  ["another run", { run: "mistral" }, false],
  ["its direction", { direction: "download" }, true],
  ["another direction", { direction: "upload" }, false],
  ["its day", { fromDay: "2026-11-22", toDay: "2026-11-22" }, true],
  ["the day after", { fromDay: "2026-11-23" }, false],
  ["the day before", { toDay: "2026-11-21" }, false],
])("a live row fits %s", (_, search, fits) => {
  const createdAt = new Date("2026-11-22T13:00:00").getTime();
  const live = row("a", { nodeName: "gpu-7", run: "llama", direction: "download", createdAt });
  expect(fitsSearch(live, { ...NO_SEARCH, ...search })).toBe(fits);
});
