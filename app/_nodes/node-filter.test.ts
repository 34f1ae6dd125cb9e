import { expect, test } from "vitest";
import { nodeRow } from "#protocol/make-node-row.ts";
import { matchesWords, parseNodeFilter, passesFilter } from "./node-filter.ts";

test("revoked nodes are seen only when asked for", () => {
  expect(passesFilter(nodeRow({ state: "revoked" }), "all")).toBe(false);
  expect(passesFilter(nodeRow({ state: "revoked" }), "revoked")).toBe(true);
  expect(passesFilter(nodeRow({ state: "revoked", work: "risk" }), "risk")).toBe(false);
});

test("a silent node with work not safe is both silent and at risk", () => {
  const silent = nodeRow({ state: "silent", work: "lost" });
  expect(passesFilter(silent, "silent")).toBe(true);
  expect(passesFilter(silent, "risk")).toBe(true);
});

test("words are looked for in name, GPU, labels and profile, all of them", () => {
  expect(matchesWords(nodeRow(), "4090 us-EAST")).toBe(true);
  expect(matchesWords(nodeRow(), "4090 us-west")).toBe(false);
});

test("an unknown filter in the address means all", () => {
  expect(parseNodeFilter("<script>")).toBe("all");
  expect(parseNodeFilter("silent")).toBe("silent");
});
