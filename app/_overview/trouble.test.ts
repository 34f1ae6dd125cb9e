import { expect, test } from "vitest";
import { NO_RISK } from "#protocol/wire/risk.ts";
import type { NodeRow, TransferRow } from "#protocol/wire/views.ts";
import { nodeRow, nodeRunView } from "#protocol/testing/make-node-row.ts";
import { transferRow } from "../_hub/transfers/make-transfer-row.ts";
import { byTrouble, countTroubles, failingNodes, rankNodes, troublesOf } from "./trouble.ts";

type NodeParts = Partial<Pick<NodeRow, "state" | "work" | "risk" | "runs">>;
const node = (name: string, parts: NodeParts = {}) => nodeRow({ id: name, name, ...parts });

const moving = (nodeId: string, parts: Partial<TransferRow>) => transferRow({ id: `t-${nodeId}`, nodeId, ...parts });

const lost = node("gone", { state: "silent", work: "lost", risk: { ...NO_RISK, lossMs: 14 * 60_000 } });
const quiet = node("quiet", { state: "silent" });
const late = node("late", { state: "unconfirmed", work: "moving" });
const behind = node("behind", { work: "risk", risk: { ...NO_RISK, oldestUnsafeAt: 5 } });
const slow = node("slow", {
  runs: [nodeRunView({ safeBytes: 1e9, intervalMs: 60_000, leastIntervalMs: 600_000 })],
});
const stalled = node("stalled");
const well = [node("well-10"), node("well-2")];

const nodes = [...well, slow, stalled, behind, late, quiet, lost];
const ranked = rankNodes(nodes, new Set(["stalled"]));

test("a fleet in which all is well has no trouble", () => {
  const counts = countTroubles(rankNodes(well, failingNodes([moving("well-2", {})])));
  expect(troublesOf({ failedLastDay: 0, nodes: counts, isMoving: true, alerts: 0 })).toEqual([]);
});

test("each node is told once, as the worst that it is, and the worst comes first", () => {
  const failing = failingNodes([moving("stalled", { stalledMs: 40_000 }), moving("gone", { stalledMs: 1 })]);
  const counts = countTroubles(rankNodes(nodes, failing));
  const found = troublesOf({ failedLastDay: 3, nodes: counts, isMoving: true, alerts: 1 });
  expect(found.map(({ id, count }) => `${count} ${id}`)).toEqual([
    "1 lost",
    "1 silent",
    "1 failing",
    "1 alerts",
    "1 unconfirmed",
    "1 risk",
    "1 slow",
    "3 failed",
  ]);
  expect(found[0]?.words).toBe("node offline with unsaved work, 14 min of training");
});

test("a transfer that waits with a fault counts as failing, one that waits its turn does not", () => {
  const fault: TransferRow["fault"] = { code: "HUB_UNREACHABLE" };
  expect([...failingNodes([moving("a", { state: "waiting", fault }), moving("b", { state: "waiting" })])]).toEqual([
    "a",
  ]);
});

test("the failing and the slow nodes stand first, then those whose work waits longest", () => {
  const order = byTrouble(ranked, { passes: () => true, most: 8 });
  expect(order.map(({ name }) => name)).toEqual([
    "gone",
    "stalled",
    "quiet",
    "late",
    "behind",
    "slow",
    "well-2",
    "well-10",
  ]);
});

test("of many only those that are shown are put in order, and all are there", () => {
  const order = byTrouble(ranked, { passes: () => true, most: 3 }).map(({ name }) => name);
  expect(order.slice(0, 3)).toEqual(["gone", "stalled", "quiet"]);
  expect(order.toSorted()).toEqual(nodes.map(({ name }) => name).toSorted());
  const away = byTrouble(ranked, { passes: ({ state }) => state === "silent", most: 3 });
  expect(away.map(({ name }) => name)).toEqual(["gone", "quiet"]);
});
