import { mkdir, mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterEach, beforeEach, expect, test } from "vitest";
import { folderToWatch } from "./writes-elsewhere.ts";

let folder: string;
beforeEach(async () => {
  folder = await mkdtemp(join(tmpdir(), "tidemark-elsewhere-"));
});
afterEach(() => rm(folder, { recursive: true, force: true }));

test.each([
  ["lightning_logs/version_0/checkpoints", "lightning_logs"],
  ["lightning_logs/version_0", "lightning_logs"],
  ["runs/detect/train2/weights", "runs/detect"],
])("where %s is watched and there, %s is the folder to watch", async (watched, above) => {
  expect(await folderToWatch(join(folder, watched))).toBeNull();
  await mkdir(join(folder, watched), { recursive: true });
  expect(await folderToWatch(join(folder, watched))).toBe(join(folder, above));
});

test("of other folders nothing is said", async () => {
  await mkdir(join(folder, "trainer/checkpoints"), { recursive: true });
  expect(await folderToWatch(join(folder, "trainer/checkpoints"))).toBeNull();
});
