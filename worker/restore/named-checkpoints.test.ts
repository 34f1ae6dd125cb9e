import { execFileSync } from "node:child_process";
import { mkdir, mkdtemp, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterEach, beforeEach, expect, test } from "vitest";
import { namesInState } from "./named-checkpoints.ts";

let folder: string;
beforeEach(async () => {
  folder = await mkdtemp(join(tmpdir(), "tidemark-named-"));
});
afterEach(() => rm(folder, { recursive: true, force: true }));

test("the Trainer's state names its best checkpoint, by the path of the machine that wrote it", async () => {
  const path = join(folder, "checkpoint-40");
  const state = (best: string | null) =>
    writeFile(join(path, "trainer_state.json"), JSON.stringify({ global_step: 40, best_model_checkpoint: best }));
  await mkdir(path);
  await state("/home/me/out/checkpoint-10");
  expect(await namesInState(path)).toEqual(["checkpoint-10"]);
  await state(String.raw`C:\out\checkpoint-20`);
  expect(await namesInState(path)).toEqual(["checkpoint-20"]);
  await state("/home/me/out/checkpoint-40");
  expect(await namesInState(path)).toEqual([]);
  await state(null);
  expect(await namesInState(path)).toEqual([]);
});

test("a file of Lightning names the best and the top k", async () => {
  execFileSync("tar", ["-xzf", join(import.meta.dirname, "../../e2e/layouts/lightning-link.tar.gz"), "-C", folder]);
  const named = await namesInState(join(folder, "epoch=1-step=20.ckpt"));
  expect(named).toContain("epoch=0-step=10.ckpt");
  expect(named).not.toContain("epoch=1-step=20.ckpt");
});

test("what is not there, and what says nothing, names none", async () => {
  expect(await namesInState(join(folder, "nowhere"))).toEqual([]);
  await writeFile(join(folder, "last.ckpt"), "no file of torch");
  expect(await namesInState(join(folder, "last.ckpt"))).toEqual([]);
});
