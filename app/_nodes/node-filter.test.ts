import { expect, test } from "vitest";
import { nodeRow, nodeRunView } from "#protocol/testing/make-node-row.ts";
import { countConditions, matchesWords, parseNodeFilter, passesFilter, type NodeFilter } from "./node-filter.ts";

test("revoked nodes are seen only when asked for", () => {
  expect(passesFilter(nodeRow({ state: "revoked" }), "all")).toBe(false);
  expect(passesFilter(nodeRow({ state: "revoked" }), "revoked")).toBe(true);
  expect(passesFilter(nodeRow({ state: "revoked", work: "risk" }), "risk")).toBe(false);
});

test("a silent node with work not safe is both silent and lost", () => {
  const silent = nodeRow({ state: "silent", work: "lost" });
  expect(passesFilter(silent, "silent")).toBe(true);
  expect(passesFilter(silent, "risk")).toBe(true);
});

test("a filter holds as many nodes as the counts of the conditions that it names", () => {
  const runs = [nodeRunView()];
  const nodes = [
    nodeRow({ runs, work: "moving", activeTransfers: 0 }),
    nodeRow({ runs, work: "risk", activeTransfers: 2 }),
    nodeRow({ runs, work: "moving", state: "unconfirmed" }),
    nodeRow({ runs, work: "lost", state: "silent" }),
    nodeRow({ runs, work: "safe", activeTransfers: 1 }),
  ];
  const counts = countConditions(nodes);
  const shown = (id: NodeFilter) => nodes.filter((node) => passesFilter(node, id)).length;
  expect(shown("moving")).toBe(counts.get("uploading"));
  expect(shown("unconfirmed")).toBe(counts.get("unconfirmed"));
  expect(shown("silent")).toBe(counts.get("silent"));
  expect([...counts.values()].reduce((sum, count) => sum + count, 0)).toBe(nodes.length);
});

test("words are looked for in name, GPU, labels and profile, all of them", () => {
  expect(matchesWords(nodeRow(), "4090 us-EAST")).toBe(true);
  expect(matchesWords(nodeRow(), "4090 us-west")).toBe(false);
});

test("an unknown filter in the address means all", () => {
  expect(parseNodeFilter("<script>")).toBe("all");
  expect(parseNodeFilter("silent")).toBe("silent");
});
