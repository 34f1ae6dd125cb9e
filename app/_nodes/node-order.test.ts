import { describe, expect, it } from "vitest";
import { NO_RISK } from "#protocol/wire/risk.ts";
import type { NodeRow } from "#protocol/wire/views.ts";
import { nodeRow } from "#protocol/testing/make-node-row.ts";
import { nextOrder, nodeOrderOf } from "./node-order.ts";

const node = (name: string, over: Partial<NodeRow> = {}) => nodeRow({ name, ...over });
const sorted = (word: string, nodes: readonly NodeRow[]): string[] =>
  nodes.toSorted(nodeOrderOf(word).compare).map(({ name }) => name);

describe("the order of nodes", () => {
  it("is by backlog age unless the address says another", () => {
    const old = node("b", { risk: { ...NO_RISK, bytes: 1, oldestUnsafeAt: 1 } });
    expect(sorted("", [node("a"), old])).toEqual(["b", "a"]);
    expect(sorted("constructor", [node("a"), old])).toEqual(["b", "a"]);
    expect(nodeOrderOf("nonsense").column).toBeNull();
  });

  it("counts numbers in names, and breaks ties by them", () => {
    const nodes = [node("gpu-10"), node("gpu-9", { upBytesPerSecond: 5 }), node("gpu-1")];
    expect(sorted("node", nodes)).toEqual(["gpu-1", "gpu-9", "gpu-10"]);
    expect(sorted("-node", nodes)).toEqual(["gpu-10", "gpu-9", "gpu-1"]);
    expect(sorted("up", nodes)).toEqual(["gpu-9", "gpu-1", "gpu-10"]);
  });

  it("leaves a round trip nobody measured at the end, whichever way round", () => {
    const nodes = [node("unknown"), node("near", { rttMs: 5 }), node("far", { rttMs: 200 })];
    expect(sorted("rtt", nodes)).toEqual(["far", "near", "unknown"]);
    expect(sorted("-rtt", nodes)).toEqual(["near", "far", "unknown"]);
  });

  it("says which way it goes as tables do", () => {
    const directions = ["node", "-node", "up", "-up", "state"].map((word) => nodeOrderOf(word).direction);
    expect(directions).toEqual(["ascending", "descending", "descending", "ascending", "ascending"]);
    expect(sorted("state", [node("a"), node("b", { state: "silent" })])).toEqual(["b", "a"]);
  });

  it("is turned round by a second press, and usual again after a third", () => {
    expect(nextOrder(nodeOrderOf(""), "up")).toBe("up");
    expect(nextOrder(nodeOrderOf("up"), "up")).toBe("-up");
    expect(nextOrder(nodeOrderOf("-up"), "up")).toBe("");
    expect(nextOrder(nodeOrderOf("-up"), "rtt")).toBe("rtt");
  });
});
