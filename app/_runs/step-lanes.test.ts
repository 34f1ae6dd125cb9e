import { expect, test } from "vitest";
import type { EpochView } from "#protocol/checkpoint/lineage.ts";
import type { CheckpointRow } from "#protocol/wire/views.ts";
import { stepLanes } from "./step-lanes.ts";

const epoch = (number: number, parent: EpochView["parent"]): EpochView => ({
  epoch: number,
  parent,
  branch: null,
  nodeId: `n${number}`,
  nodeName: `gpu-${number}`,
  claimedAt: 0,
});
const at = (writerEpoch: number, step: number, state: CheckpointRow["state"] = "complete") => ({
  id: `${writerEpoch}-${step}`,
  writerEpoch,
  step,
  state,
  doubt: null as string | null,
  nodeName: `gpu-${writerEpoch}`,
});

test("what may not be whole is told from what is", () => {
  const checkpoints = [at(1, 100), { ...at(1, 200), doubt: "a file is missing" }];
  const { lanes } = stepLanes({ epochs: [epoch(1, null)], checkpoints, most: 50 });
  expect(lanes[0]?.marks.map(({ tone, word }) => [tone, word])).toEqual([
    ["safe", "complete"],
    ["risk", "doubtful"],
  ]);
});

test("what a dead node had not made safe is lost, what it had is safe", () => {
  const { lanes, lostMarks } = stepLanes({
    epochs: [epoch(1, null), epoch(2, { epoch: 1, step: 200 })],
    checkpoints: [at(1, 100), at(1, 200), at(1, 300, "torn"), at(2, 300), at(2, 400, "uploading")],
    most: 50,
  });
  expect(lanes.map((lane) => lane.marks.map((mark) => mark.tone))).toEqual([
    ["safe", "safe", "lost"],
    ["safe", "moving"],
  ]);
  expect(lostMarks).toBe(1);
  expect(lanes[1]?.from).toEqual({ epoch: 1, step: 200 });
});

test("a torn checkpoint of the present epoch is at risk, not lost", () => {
  const { lanes } = stepLanes({ epochs: [epoch(1, null)], checkpoints: [at(1, 100, "torn")], most: 50 });
  expect(lanes[0]?.marks[0]?.tone).toBe("risk");
});

test("a complete step beyond the branch stays safe", () => {
  const { lostMarks } = stepLanes({
    epochs: [epoch(1, null), epoch(2, { epoch: 1, step: 100 })],
    checkpoints: [at(1, 100), at(1, 200), at(2, 150)],
    most: 50,
  });
  expect(lostMarks).toBe(0);
});

test("of a long run the newest steps are shown and the rest is counted", () => {
  const { omitted, first, last } = stepLanes({
    epochs: [epoch(1, null)],
    checkpoints: Array.from({ length: 100 }, (_, index) => at(1, index * 10)),
    most: 40,
  });
  expect(omitted).toBe(60);
  expect([first, last]).toEqual([600, 990]);
});
