import { expect, test } from "vitest";
import { createTally } from "./transfer-progress.ts";
import { mapRows } from "#worker/base/rows.ts";

const file = { path: "a", sizeBytes: 300, partCount: 3 };
const part = (partIndex: number) => ({ fileIndex: 0, partIndex, length: 100 });

test("bytes on their way count once, and a failed part takes its bytes back", () => {
  const tally = createTally([file], () => 0);
  tally.part(part(0), "moving");
  tally.moved(60);
  expect(tally.bytesDone).toBe(60);
  tally.moved(-60);
  tally.part(part(0), "waiting");
  expect(tally.bytesDone).toBe(0);
  tally.part(part(0), "moving");
  tally.moved(100);
  tally.part(part(0), "done");
  expect([tally.bytesDone, tally.bytesSure, tally.sentBytes]).toEqual([100, 100, 160]);
});

test("a part kept from an earlier try is sure without having moved", () => {
  const tally = createTally([file], () => 0);
  tally.part(part(1), "kept");
  tally.part(part(2), "moving");
  expect(tally.pieces()).toBe(".#>");
  expect([tally.bytesDone, tally.bytesSure, tally.sentBytes]).toEqual([100, 100, 0]);
});

test("a transfer has taken until its last part was acknowledged, and nothing for what was kept", () => {
  let nowMs = 0;
  const tally = createTally([file], () => nowMs);
  tally.part(part(0), "moving");
  tally.moved(100);
  nowMs = 2_000;
  tally.part(part(0), "done");
  nowMs = 5_000;
  tally.part(part(1), "kept");
  expect(tally.pace()).toMatchObject({ sentBytes: 100, tookMs: 2_000 });
});

test("a thousand parts are shown in at most 240 pieces", () => {
  const tally = createTally([{ path: "a", sizeBytes: 1000, partCount: 1000 }], () => 0);
  for (let index = 0; index < 500; index++) tally.part({ fileIndex: 0, partIndex: index, length: 1 }, "done");
  const pieces = tally.pieces();
  expect(pieces).toHaveLength(240);
  expect(pieces.startsWith("#".repeat(119))).toBe(true);
  expect(pieces.endsWith(".".repeat(119))).toBe(true);
});

test("a part that came to nothing is told of until it is there, in the piece it belongs to", () => {
  const tally = createTally([{ path: "a", sizeBytes: 480, partCount: 480 }], () => 0);
  const at = (partIndex: number) => ({ fileIndex: 0, partIndex, length: 1 });
  for (const index of [10, 11, 40]) tally.part(at(index), "moving");
  tally.part(at(40), "waiting");
  expect(tally.triedAgain()).toEqual([]);
  tally.part(at(11), "again");
  tally.part(at(40), "again");
  expect(tally.triedAgain()).toEqual([5, 20]);
  tally.part(at(11), "moving");
  expect(tally.triedAgain()).toEqual([5, 20]);
  tally.part(at(11), "done");
  expect(tally.triedAgain()).toEqual([20]);
  expect(tally.pieces()).toHaveLength(240);
});

test("files that are made when they are asked for count as an array of them", () => {
  const sizes = [300, 0, 50];
  const fileOf = (sizeBytes: number) => ({
    path: `file of ${sizeBytes}`,
    sizeBytes,
    partCount: Math.ceil(sizeBytes / 100),
  });
  const tally = createTally(mapRows(sizes, fileOf), () => 0);
  const { filesTotal, bytesTotal, partsTotal, largestPartBytes } = tally;
  expect({ filesTotal, bytesTotal, partsTotal, largestPartBytes }).toEqual({
    filesTotal: 3,
    bytesTotal: 350,
    partsTotal: 4,
    largestPartBytes: 100,
  });
  tally.part({ fileIndex: 2, partIndex: 0, length: 50 }, "moving");
  expect([tally.currentPath, tally.pieces()]).toEqual(["file of 50", "...>"]);
});
