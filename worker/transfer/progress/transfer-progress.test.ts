import { expect, test } from "vitest";
import { createProgressCounters } from "./transfer-progress.ts";
import { mapRows } from "#worker/base/rows.ts";

const file = { path: "a", sizeBytes: 300, partCount: 3 };
const part = (partIndex: number) => ({ fileIndex: 0, partIndex, length: 100 });

test("bytes on their way count once, and a failed part takes its bytes back", () => {
  const counters = createProgressCounters([file], () => 0);
  counters.part(part(0), "moving");
  counters.moved(60);
  expect(counters.bytesDone).toBe(60);
  counters.moved(-60);
  counters.part(part(0), "waiting");
  expect(counters.bytesDone).toBe(0);
  counters.part(part(0), "moving");
  counters.moved(100);
  counters.part(part(0), "done");
  expect([counters.bytesDone, counters.bytesSure, counters.sentBytes]).toEqual([100, 100, 160]);
});

test("a part kept from an earlier try is sure without having moved", () => {
  const counters = createProgressCounters([file], () => 0);
  counters.part(part(1), "kept");
  counters.part(part(2), "moving");
  expect(counters.pieces()).toBe(".#>");
  expect([counters.bytesDone, counters.bytesSure, counters.sentBytes]).toEqual([100, 100, 0]);
});

test("a transfer has taken until its last part was acknowledged, and nothing for what was kept", () => {
  let nowMs = 0;
  const counters = createProgressCounters([file], () => nowMs);
  counters.part(part(0), "moving");
  counters.moved(100);
  nowMs = 2_000;
  counters.part(part(0), "done");
  nowMs = 5_000;
  counters.part(part(1), "kept");
  expect(counters.pace()).toMatchObject({ sentBytes: 100, tookMs: 2_000 });
});

test("a thousand parts are shown in at most 240 pieces", () => {
  const counters = createProgressCounters([{ path: "a", sizeBytes: 1000, partCount: 1000 }], () => 0);
  for (let index = 0; index < 500; index++) counters.part({ fileIndex: 0, partIndex: index, length: 1 }, "done");
  const pieces = counters.pieces();
  expect(pieces).toHaveLength(240);
  expect(pieces.startsWith("#".repeat(119))).toBe(true);
  expect(pieces.endsWith(".".repeat(119))).toBe(true);
});

test("a part that came to nothing is told of until it is there, in the piece it belongs to", () => {
  const counters = createProgressCounters([{ path: "a", sizeBytes: 480, partCount: 480 }], () => 0);
  const at = (partIndex: number) => ({ fileIndex: 0, partIndex, length: 1 });
  for (const index of [10, 11, 40]) counters.part(at(index), "moving");
  counters.part(at(40), "waiting");
  expect(counters.triedAgain()).toEqual([]);
  counters.part(at(11), "again");
  counters.part(at(40), "again");
  expect(counters.triedAgain()).toEqual([5, 20]);
  counters.part(at(11), "moving");
  expect(counters.triedAgain()).toEqual([5, 20]);
  counters.part(at(11), "done");
  expect(counters.triedAgain()).toEqual([20]);
  expect(counters.pieces()).toHaveLength(240);
});

test("files that are made when they are asked for count as an array of them", () => {
  const sizes = [300, 0, 50];
  const fileOf = (sizeBytes: number) => ({
    path: `file of ${sizeBytes}`,
    sizeBytes,
    partCount: Math.ceil(sizeBytes / 100),
  });
  const counters = createProgressCounters(mapRows(sizes, fileOf), () => 0);
  const { filesTotal, bytesTotal, partsTotal, largestPartBytes } = counters;
  expect({ filesTotal, bytesTotal, partsTotal, largestPartBytes }).toEqual({
    filesTotal: 3,
    bytesTotal: 350,
    partsTotal: 4,
    largestPartBytes: 100,
  });
  counters.part({ fileIndex: 2, partIndex: 0, length: 50 }, "moving");
  expect([counters.currentPath, counters.pieces()]).toEqual(["file of 50", "...>"]);
});
