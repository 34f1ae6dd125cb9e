import { mkdir, mkdtemp, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterEach, beforeEach, expect, test } from "vitest";
import { findFinalModel, finalModelBelow, finalModelNames } from "./final-model.ts";
import { lookAt } from "./look.ts";
import { readReadiness } from "./readiness.ts";

let folder: string;
beforeEach(async () => {
  folder = await mkdtemp(join(tmpdir(), "tidemark-final-"));
});
afterEach(() => rm(folder, { recursive: true, force: true }));

test("the weights of save_model are taken with what a loader reads beside them, and nothing else", () => {
  const model = ["config.json", "generation_config.json", "model.safetensors", "tokenizer.json", "training_args.bin"];
  const others = [
    "checkpoint-10.pt",
    "train.log",
    "eval_results.json",
    "trainer_state.json",
    "README.md",
    "events.out.tfevents.1.host",
    "notes.bin",
    "model.safetensors.tmp",
  ];
  expect(finalModelNames([...model, ...others])).toEqual(model.toSorted());
  expect(finalModelNames(["adapter_config.json", "adapter_model.safetensors"])).toHaveLength(2);
  expect(finalModelNames(["config.json", "tokenizer.json", "train.bin"])).toEqual([]);
  // A checkpoint in one file.
  expect(finalModelNames(["model-step_10.safetensors"])).toEqual([]);
});

test("it is whole when all its shards are there, without a state of the Trainer", async () => {
  const safetensors = Buffer.concat([Buffer.from([2, 0, 0, 0, 0, 0, 0, 0]), Buffer.from("{}")]);
  await writeFile(join(folder, "training_args.bin"), "arguments");
  await writeFile(join(folder, "model-00001-of-00002.safetensors"), safetensors);
  const judge = async () => {
    const found = await findFinalModel(folder);
    const look = found === null ? null : await lookAt(found);
    return found === null || look === null ? null : readReadiness({ ...found, step: 60 }, look);
  };
  expect(await judge()).toEqual({ says: "unfinished", why: "model-00002-of-00002.safetensors is missing" });
  await writeFile(join(folder, "model-00002-of-00002.safetensors"), safetensors);
  expect(await judge()).toEqual({ says: "unsaid", isSlow: false, isWhole: true });
});

test("only its own files are looked at: checkpoints and logs beside it change without it", async () => {
  await writeFile(join(folder, "model.safetensors"), "weights");
  await mkdir(join(folder, "checkpoint-10"));
  await writeFile(join(folder, "checkpoint-10", "model.safetensors"), "weights of step 10");
  const candidate = await findFinalModel(folder);
  expect(candidate).toMatchObject({ role: "final-model", names: ["model.safetensors"] });
  if (candidate === null) return;
  expect((await lookAt(candidate))?.files.map(({ relative }) => relative)).toEqual(["model.safetensors"]);
});

test("below the folder the newest weights count, when they are newer than the newest checkpoint and stay as they are", () => {
  const fetched = { path: "/w/base-model", names: ["model.safetensors"], writtenMs: 1_000 };
  const saved = { path: "/w/outputs/12-00-00", names: ["model.safetensors", "config.json"], writtenMs: 9_000 };
  const about = { newestCheckpointMs: 5_000, now: 10_000, quietMs: 0 };
  expect(finalModelBelow([fetched, saved], about)).toEqual({
    path: saved.path,
    name: "12-00-00",
    kind: "folder",
    role: "final-model",
    names: ["config.json", "model.safetensors"],
  });
  expect(finalModelBelow([fetched], about)).toBeNull();
  expect(finalModelBelow([fetched, saved], { ...about, newestCheckpointMs: null })).toBeNull();
  expect(finalModelBelow([saved], { ...about, quietMs: 2_000 })).toBeNull();
  // At the end of the program, with the clock of the disk ahead of ours.
  expect(finalModelBelow([saved], { ...about, now: saved.writtenMs - 60_000, quietMs: 0 })).not.toBeNull();
});

test("a folder that is not there has none", async () => {
  expect(await findFinalModel(join(folder, "nowhere"))).toBeNull();
});
