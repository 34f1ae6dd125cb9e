import { mkdir, mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterEach, beforeEach, expect, test } from "vitest";
import { nextPlace } from "./writes-elsewhere.ts";

let folder: string;
beforeEach(async () => {
  folder = await mkdtemp(join(tmpdir(), "tidemark-elsewhere-"));
});
afterEach(() => rm(folder, { recursive: true, force: true }));

test.each([
  ["lightning_logs/version_0/checkpoints", "lightning_logs", "version_1"],
  ["lightning_logs/version_3", "lightning_logs", "version_4"],
  ["runs/detect/train/weights", "runs/detect", "train-2 or train2"],
  ["runs/detect/train2/weights", "runs/detect", "train-3 or train3"],
  ["runs/detect/train-2", "runs/detect", "train-3 or train3"],
  ["outputs/2026-11-27/12-30-00", "outputs", "a folder of the date and time of its start"],
  ["outputs/2026-11-27/12-30-00/checkpoints", "outputs", "a folder of the date and time of its start"],
])("where %s is watched and there, %s is the folder to watch: the framework makes %s", async (watched, above, next) => {
  expect(await nextPlace(join(folder, watched))).toBeNull();
  await mkdir(join(folder, watched), { recursive: true });
  expect(await nextPlace(join(folder, watched))).toEqual({ above: join(folder, above), next });
});

test("of other folders nothing is said", async () => {
  await mkdir(join(folder, "trainer/checkpoints"), { recursive: true });
  expect(await nextPlace(join(folder, "trainer/checkpoints"))).toBeNull();
});
