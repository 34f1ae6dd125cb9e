import { expect, it } from "vitest";
import type { LineageEpoch } from "#protocol/checkpoint/lineage.ts";
import { lineageGraph, MOST_LANES } from "./lineage-graph.ts";

const epoch = (number: number, nodeId: string, parent: number | null): LineageEpoch => ({
  epoch: number,
  nodeId,
  nodeName: nodeId,
  claimedAt: number,
  endedAt: null,
  parent: parent === null ? null : { epoch: parent, step: 1 },
  branch: null,
  firstStep: null,
  lastStep: null,
  complete: 0,
  sizeBytes: 0,
  unfinished: 0,
  lost: null,
});

it("gives every node one lane, from the first writer on, and ties each epoch to where it went on from", () => {
  const { rows, lanes } = lineageGraph([epoch(4, "a", 2), epoch(3, "c", 2), epoch(2, "b", 1), epoch(1, "a", null)]);
  expect(lanes).toBe(3);
  expect(rows.map(({ lane, parentRow }) => [lane, parentRow])).toEqual([
    [0, 2],
    [2, 2],
    [1, 3],
    [0, null],
  ]);
});

it("ties nothing to an epoch that is not shown, and grows no wider than its lanes", () => {
  const many = Array.from({ length: 20 }, (_, index) => epoch(40 - index, `n${index}`, 39 - index));
  const { rows, lanes } = lineageGraph(many);
  expect(lanes).toBe(MOST_LANES);
  expect(rows.at(-1)?.parentRow).toBeNull();
  expect(Math.max(...rows.map(({ lane }) => lane))).toBe(MOST_LANES - 1);
});
