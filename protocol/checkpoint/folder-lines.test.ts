import { expect, test } from "vitest";
import { linesOf } from "./folder-lines.ts";

test("each folder with checkpoints is a line, and the one that was written last is trained now", () => {
  const version = (number: number, step: number, at: number) => ({
    path: `lightning_logs/version_${number}/checkpoints/epoch=0-step=${step}.ckpt`,
    step,
    at,
  });
  expect(
    linesOf([
      version(0, 300, 3),
      version(1, 20, 9),
      version(1, 10, 8),
      { path: "ckpt.pt", step: 1_700_000_000, stepFrom: "time", at: 5 },
    ]),
  ).toEqual([
    { folder: "lightning_logs/version_1/checkpoints", step: 20, at: 9, checkpoints: 2 },
    { folder: "", step: 1_700_000_000, stepFrom: "time", at: 5, checkpoints: 1 },
    { folder: "lightning_logs/version_0/checkpoints", step: 300, at: 3, checkpoints: 1 },
  ]);
  expect(linesOf([])).toEqual([]);
});
