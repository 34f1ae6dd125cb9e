import { mkdir, mkdtemp, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterEach, beforeEach, expect, test } from "vitest";
import { nextPlace } from "./writes-elsewhere.ts";

let folder: string;
beforeEach(async () => {
  folder = await mkdtemp(join(tmpdir(), "tidemark-elsewhere-"));
});
afterEach(() => rm(folder, { recursive: true, force: true }));

const SWEEP = "a folder of the date and time of its start, with one for each job";
const DATED = "a folder of the date and time of its start";
const DAY = "a folder of the day of its start";

test.each([
  ["lightning_logs/version_0/checkpoints", "lightning_logs", "version_1"],
  ["lightning_logs/version_3", "lightning_logs", "version_4"],
  ["runs/detect/train/weights", "runs/detect", "train-2 or train2"],
  ["runs/detect/train2/weights", "runs/detect", "train-3 or train3"],
  ["runs/detect/train-2", "runs/detect", "train-3 or train3"],
  ["runs/segment/train/weights", "runs/segment", "train-2 or train2"],
  ["runs/classify/train", "runs/classify", "train-2 or train2"],
  ["runs/pose/train3", "runs/pose", "train-2 or train2"],
  ["runs/train/exp/weights", "runs/train", "exp-2 or exp2"],
  ["runs/train/exp2", "runs/train", "exp-3 or exp3"],
  ["outputs/2026-11-27/12-30-00", "outputs", DATED],
  ["outputs/2026-11-27/12-30-00/checkpoints", "outputs", DATED],
  ["outputs/2026-11-27", "outputs", DAY],
  ["multirun/2026-11-27/12-30-00/3", "multirun", SWEEP],
  ["multirun/2026-11-27/12-30-00/0/checkpoints", "multirun", SWEEP],
  ["multirun/2026-11-27/12-30-00", "multirun", DATED],
  ["multirun/2026-11-27", "multirun", DAY],
  ["output/train/20261127-123000-resnet18-224", "output/train", DATED],
])("where %s is watched and there, %s is the folder to watch: the framework makes %s", async (watched, above, next) => {
  expect(await nextPlace(join(folder, watched))).toBeNull();
  await mkdir(join(folder, watched), { recursive: true });
  expect(await nextPlace(join(folder, watched))).toEqual({ above: join(folder, above), next });
});

test.each(["trainer/checkpoints", "runs/segment", "runs/pose", "runs/train", "data/2026-11-27"])(
  "of other folders and of projects of YOLO (%s) nothing is said",
  async (watched) => {
    await mkdir(join(folder, watched, "train"), { recursive: true });
    expect(await nextPlace(join(folder, watched))).toBeNull();
  },
);

test("a training of YOLO under a name of one's own is known by its settings, unless they keep the folder", async () => {
  const own = join(folder, "runs/segment/mine");
  await mkdir(join(own, "weights"), { recursive: true });
  await mkdir(join(folder, "runs/segment/mine2"));
  expect(await nextPlace(join(own, "weights"))).toBeNull();
  await writeFile(join(own, "args.yaml"), "task: segment\nexist_ok: false\n");
  const next = { above: join(folder, "runs/segment"), next: "mine-3 or mine3" };
  expect(await nextPlace(join(own, "weights"))).toEqual(next);
  expect(await nextPlace(own)).toEqual(next);
  await writeFile(join(own, "args.yaml"), "task: segment\nexist_ok: true\n");
  expect(await nextPlace(own)).toBeNull();
});
