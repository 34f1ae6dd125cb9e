import { mkdtemp, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterEach, beforeEach, expect, test } from "vitest";
import { torchFile, type SavedState } from "#storage/testing/torch-file.ts";
import { zipOf } from "#storage/testing/zip-of.ts";
import { FINAL } from "../file-sets.ts";
import { readStepInside } from "./read-step-inside.ts";

let folder: string;
beforeEach(async () => {
  folder = await mkdtemp(join(tmpdir(), "tidemark-inside-"));
});
afterEach(() => rm(folder, { recursive: true, force: true }));

async function stepIn(bytes: Buffer): Promise<number | null> {
  const path = join(folder, "ckpt.pt");
  await writeFile(path, bytes);
  return readStepInside(path, bytes.length);
}

test.each<[SavedState, number | null]>([
  [{ model: null, global_step: 1200 }, 1200],
  [{ iter_num: 250, best_val_loss: null }, 250],
  [{ epoch: 7 }, 7],
  [{ epoch: 7, global_step: 1200 }, 1200],
  [{ epoch: -1, optimizer: 5 }, null],
  [{ epoch: -1, optimizer: null }, FINAL],
  [{ model: null }, null],
])("a saved state %j holds the step %j", async (state, step) => {
  expect(await stepIn(torchFile(state))).toBe(step);
});

test("a state that would call something is read, and nothing is called", async () => {
  const calls = "\x80\x02}(X\x04\0\0\0stepK\x05X\x01\0\0\0acposix\nsystem\n(X\x05\0\0\0touchtRu.";
  expect(await stepIn(zipOf("archive/data.pkl", Buffer.from(calls, "latin1")))).toBe(5);
  expect(await stepIn(Buffer.from("no zip"))).toBeNull();
});
