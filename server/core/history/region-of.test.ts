import { expect, test } from "vitest";
import type { RegionRule } from "#protocol/history/history.ts";
import { regionOf } from "./region-of.ts";

const node = (labels: Record<string, string> = {}, machineId: string | null = null, name = "salad-eu-17") => ({
  name,
  facts: { labels, machineId },
});

test("a node says its region with a label, in whatever spelling", () => {
  expect(regionOf([], node({ region: "US East" }))).toBe("us-east");
  expect(regionOf([], node({ region: " =cmd|' /C calc'!A0 " }))).toBe("cmd-c-calc-a0");
  expect(regionOf([], node())).toBe("");
});

test("the operator's word counts more than the node's, and of several rules the first", () => {
  const rules: RegionRule[] = [
    { kind: "name", pattern: "salad-eu-*", region: "eu" },
    { kind: "name", pattern: "salad-*", region: "us" },
  ];
  expect(regionOf(rules, node({ region: "mars" }))).toBe("eu");
  expect(regionOf(rules, node({}, null, "SALAD-us-3"))).toBe("us");
  expect(regionOf(rules, node({ region: "mars" }, null, "other"))).toBe("mars");
});

test("a rule looks at a name, a label or a machine", () => {
  const label: RegionRule = { kind: "label", pattern: "rack=b?", region: "cellar" };
  expect(regionOf([label], node({ rack: "b7" }))).toBe("cellar");
  expect(regionOf([label], node({ rack: "b77" }))).toBe("");
  const machine: RegionRule = { kind: "machine", pattern: "m-*-9", region: "attic" };
  expect(regionOf([machine], node({}, "m-1-9-9"))).toBe("attic");
  expect(regionOf([machine], node({}, null))).toBe("");
});

test("a pattern is text but for its two signs, however hostile", () => {
  expect(regionOf([{ kind: "name", pattern: "a.c", region: "x" }], node({}, null, "abc"))).toBe("");
  const slow: RegionRule = { kind: "name", pattern: `${"*a".repeat(60)}b`, region: "x" };
  expect(regionOf([slow], node({}, null, "a".repeat(64)))).toBe("");
});
