import { expect, test } from "vitest";
import { TEST_MACHINE } from "../report/test-machine.ts";
import type { TrainingResult } from "./result.ts";
import { trainingPage } from "./write-page.ts";

const row = (way: "Tidemark" | "rclone beside it", stepRatio: number[]) => ({
  way,
  stepRatio,
  p50StepMs: 20,
  p99StepMs: 25,
  stallSeconds: 0,
});
const result: TrainingResult = {
  ...TEST_MACHINE,
  device: null,
  uplinkBytesPerSecond: 18_750_000,
  checkpointBytes: 150_000_000,
  everySeconds: 8,
  saves: 5,
  rows: [row("Tidemark", [1.01, 1.015, 1.03]), row("rclone beside it", [1.05, 1.06, 1.07])],
};

test("the median of the rounds is held to what was wanted, and the longest is told", () => {
  const page = trainingPage([result]);
  expect(page).toContain("* met: beside a full uplink a step takes at most 2.00 % longer (1.50 %)");
  expect(page).toContain("| Tidemark | 1.50 % (3.00 %) |");
  expect(page).toContain("150 MB is written, 5 in a turn, over an uplink of 150 Mbit/s");
  expect(page).toContain("Rounds: 3.");
});

test("a step that takes too long is said", () => {
  const page = trainingPage([{ ...result, rows: [row("Tidemark", [1.03])] }]);
  expect(page).toContain("**not met**");
  expect(trainingPage([{ ...result, rows: [] }])).toContain("* Tidemark: not measured");
});

test("what was trained on a GPU has a section of its own, which says on which", () => {
  const page = trainingPage([result, { ...result, device: "NVIDIA H100 80GB HBM3", uplinkBytesPerSecond: 75_000_000 }]);
  expect(page.match(/^## .*$/gm)).toEqual(["## A thread that computes", "## A model on a GPU"]);
  expect(page).toContain("learns on an NVIDIA H100 80GB HBM3 with PyTorch");
  expect(page).toContain("over an uplink of 600 Mbit/s");
});
