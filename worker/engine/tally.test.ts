import { expect, test } from "vitest";
import { createTally } from "./tally.ts";

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

test("a thousand parts are shown in at most 240 pieces", () => {
  const tally = createTally([{ path: "a", sizeBytes: 1000, partCount: 1000 }], () => 0);
  for (let index = 0; index < 500; index++) tally.part({ fileIndex: 0, partIndex: index, length: 1 }, "done");
  const pieces = tally.pieces();
  expect(pieces).toHaveLength(240);
  expect(pieces.startsWith("#".repeat(119))).toBe(true);
  expect(pieces.endsWith(".".repeat(119))).toBe(true);
});
