import { mkdir, mkdtemp, rm, utimes, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { dirname, join } from "node:path";
import { afterEach, beforeEach, expect, test } from "vitest";
import { torchFile } from "#storage/testing/torch-file.ts";
import { findCandidates } from "./walk-watched.ts";
import { lookAt } from "./look.ts";
import { createRecogniser, inOrderOfEvidence } from "./recognise.ts";

const SAFETENSORS = Buffer.concat([Buffer.from([2, 0, 0, 0, 0, 0, 0, 0]), Buffer.from("{}")]);
const TORCH = Buffer.from("PK\u0003\u0004 of a file of PyTorch");
const TOKENS = Buffer.alloc(4_000, "\u0001\u0000");
const LONG_AGO = new Date("2023-02-01");

let folder: string;
beforeEach(async () => {
  folder = await mkdtemp(join(tmpdir(), "tidemark-recognise-"));
});
afterEach(() => rm(folder, { recursive: true, force: true }));

async function write(path: string, bytes: string | Buffer, at: Date = LONG_AGO): Promise<void> {
  await mkdir(dirname(join(folder, path)), { recursive: true });
  await writeFile(join(folder, path), bytes);
  await utimes(join(folder, path), at, at);
}

/** The names that are taken for checkpoints, lowest step first. */
async function taken(about: { watchedSince?: number; isNamed?: boolean; onlyOwn?: boolean } = {}): Promise<string[]> {
  const { watchedSince = LONG_AGO.getTime() + 1, isNamed = false, onlyOwn = false } = about;
  const recogniser = createRecogniser({ isNamed, onlyOwn, watchedSince, knows: () => false, isRestored: () => false });
  const candidates = await findCandidates({ folder }, isNamed ? () => true : null);
  for (const candidate of inOrderOfEvidence(candidates)) {
    const look = await lookAt(candidate);
    if (look !== null) await recogniser.judge(candidate, look);
  }
  return candidates.filter(({ path }) => recogniser.verdictOf(path)?.why === null).map(({ name }) => name);
}

test("a tokenizer, a data set and samples are no checkpoints, whatever number ends their names", async () => {
  await write("tokenizer-32000/config.json", "{}");
  await write("tokenizer-32000/tokenizer.json", "{}");
  await write("data_2026/train.bin", TOKENS);
  await write("samples_2026/samples.json", "[]", new Date());
  await write("images_512/0001.png", "png", new Date());
  expect(await taken()).toEqual([]);
});

test("beside checkpoint-40 even real weights are no step 2026", async () => {
  await write("checkpoint-40/model.safetensors", SAFETENSORS);
  await write("checkpoint-40/trainer_state.json", "{}");
  await write("features_2026/features.pt", TORCH, new Date());
  await write("2026/model.safetensors", SAFETENSORS, new Date());
  expect(await taken()).toEqual(["checkpoint-40"]);
});

test("in a folder that nobody named only what the run wrote counts, and no download without a step", async () => {
  await write("pretrained/checkpoint-5000/model.safetensors", SAFETENSORS);
  await write("mixed/ckpt.pt", TORCH);
  await write("mixed/fetched.pt", TORCH, new Date(Date.now() + 61_000));
  const watchedSince = Date.now() + 60_000;
  const after = new Date(watchedSince + 1_000);
  await write("downloaded.pt", TORCH, after);
  await write("latest/last.pt", TORCH, after);
  await write("out/ckpt_10.pt", TORCH, after);
  expect(new Set(await taken({ watchedSince, onlyOwn: true }))).toEqual(new Set(["ckpt_10.pt", "last.pt"]));
  expect(await taken({ watchedSince })).toContain("checkpoint-5000");
});

test("the names of home-made checkpoints count once the run is watched", async () => {
  await write("llama_100/model.bin", TORCH);
  const watchedSince = Date.now() + 60_000;
  expect(await taken({ watchedSince })).toEqual([]);
  await write("llama_200/model.bin", TORCH, new Date(watchedSince + 1_000));
  expect(await taken({ watchedSince })).toEqual(["llama_200"]);
  // A copy that keeps old dates is made on this disk when it is made.
  expect(await taken({ watchedSince: Date.now() - 60_000 })).toEqual(["llama_100", "llama_200"]);
});

/** As a pickle of scikit-learn begins, of protocol 2. */
const ESTIMATOR = "\u0080\u0002csklearn.linear_model._logistic\nLogisticRegression\nq\u0000";
const XGBOOST = '{"learner":{"attributes":{}},"version":[3,4,1]}';

test.each<[string, number | "inside" | "time", (string | Buffer)?]>([
  ["ckpt.pt", "inside", torchFile({ iter_num: 250 })],
  ["ckpt.pt", "time"],
  ["last.pt", "time"],
  ["best.pt", "inside", torchFile({ epoch: 7 })],
  ["last.ckpt", "inside", torchFile({ epoch: 3, global_step: 600 })],
  ["epoch=03-val_loss=0.21.ckpt", 3],
  ["epoch=03-val_loss=0.21.ckpt", "inside", torchFile({ epoch: 3, global_step: 600 })],
  ["model_0004999.pth", 4_999],
  ["checkpoint-10.pth.tar", 10],
  ["rl_model_10000_steps.zip", 10_000],
  ["lora-000010.safetensors", 10, SAFETENSORS],
  ["ep0-ba500-rank0.pt", 500],
  ["5epoch.pth", 5],
  ["checkpoint-250.gguf", 250],
  ["weights.01-0.50.keras", 1],
  ["epoch_003.weights.h5", 3],
  ["step_40.h5", 40],
  ["megatron-step=80.nemo", 80],
  ["model.nemo", "time"],
  ["step_60/__0_0.distcp", 60],
  ["checkpoint_7.joblib", 7],
  ["model_10.ubj", 10],
  ["model_10.json", 10, XGBOOST],
  ["model.json", "time", XGBOOST],
  ["model.ubj", "time"],
  ["model.h5", "time"],
  ["net.weights.h5", "time"],
  ["model.joblib", "time", ESTIMATOR],
])("%s is a checkpoint: its step is %s", async (path, step, content = TORCH) => {
  await write(path, content, new Date());
  const [candidate, another] = await findCandidates({ folder });
  expect(another).toBeUndefined();
  expect(await taken()).toEqual([path.split("/")[0]]);
  if (typeof step === "number") expect(candidate).toMatchObject({ step });
  else expect(candidate?.stepFrom).toBe(step);
});

test.each([
  ["images_512/0001.png", "pixels"],
  ["outputs/2024-01-01/run.log", "log"],
  ["version_0/hparams.yaml", "lr: 0.1"],
  ["config_10.json", '{"hidden_size": 10}'],
  ["resnet50.zip", "of a data set"],
])("%s is no checkpoint", async (path, content) => {
  await write(path, content, new Date());
  expect(await taken()).toEqual([]);
});

test("folders of dates and versions are no steps: the files in them are", async () => {
  await write("outputs/2024-01-01/model_10.pt", TORCH, new Date());
  await write("lightning_logs/version_3/checkpoints/epoch=0-step=20.ckpt", TORCH, new Date());
  expect(await taken()).toEqual(["model_10.pt", "epoch=0-step=20.ckpt"]);
});

test("dates in names order by date", async () => {
  await write("ckpt_20250601-120000/model.pt", TORCH, new Date());
  expect((await findCandidates({ folder }))[0]).toMatchObject({ step: 1_748_779_200, stepFrom: "time" });
  await write("ckpt_20240102-000130.pt", TORCH, new Date());
  await write("ckpt_20231231-235959.pt", TORCH, new Date());
  expect(await taken()).toEqual(["ckpt_20231231-235959.pt", "ckpt_20240102-000130.pt", "ckpt_20250601-120000"]);
});

test("a framework's files need no word in the name", async () => {
  await write("100/_CHECKPOINT_METADATA", "{}");
  await write("model_7/__0_0.distcp", "pieces");
  await write("model_7/.metadata", "list");
  expect(await taken()).toEqual(["model_7", "100"]);
});

test("a folder of checkpoints is none itself: those in it are", async () => {
  await write("version_0/checkpoints/epoch=5-step=600.ckpt", TORCH, new Date());
  await write("run_3/checkpoint-100/model.safetensors", SAFETENSORS, new Date());
  expect(await taken()).toEqual(["checkpoint-100", "epoch=5-step=600.ckpt"]);
});

test("a person's pattern is obeyed", async () => {
  await write("samples_2026/samples.json", "[]");
  expect(await taken({ isNamed: true })).toEqual(["samples_2026"]);
});

test("what stood beside a candidate is forgotten when it is gone", async () => {
  const recogniser = createRecogniser({ isNamed: false, watchedSince: 0, knows: () => false, isRestored: () => false });
  const judge = async () => {
    const candidates = await findCandidates({ folder });
    recogniser.keepOnly(candidates);
    for (const candidate of inOrderOfEvidence(candidates)) {
      const look = await lookAt(candidate);
      if (look !== null) await recogniser.judge(candidate, look);
    }
    return candidates.filter(({ path }) => recogniser.verdictOf(path)?.why === null).map(({ name }) => name);
  };
  await write("checkpoint-40/model.safetensors", SAFETENSORS);
  await write("llama_100/model.bin", TORCH);
  expect(await judge()).toEqual(["checkpoint-40"]);
  await rm(join(folder, "checkpoint-40"), { recursive: true });
  expect(await judge()).toEqual(["llama_100"]);
});

test("a name that a restore gave is no evidence: a program that calls its checkpoints otherwise goes on being kept safe", async () => {
  await write("checkpoint-200/_CHECKPOINT_METADATA", "{}", new Date());
  await write("300/_CHECKPOINT_METADATA", "{}", new Date());
  await write("llama_400/model.bin", TORCH, new Date());
  const restored = join(folder, "checkpoint-200");
  const judge = async (isRestored: (path: string) => boolean) => {
    const recogniser = createRecogniser({ isNamed: false, watchedSince: 0, knows: () => false, isRestored });
    const candidates = await findCandidates({ folder });
    for (const candidate of inOrderOfEvidence(candidates)) {
      const look = await lookAt(candidate);
      if (look !== null) await recogniser.judge(candidate, look);
    }
    return candidates.filter(({ path }) => recogniser.verdictOf(path)?.why === null).map(({ name }) => name);
  };
  expect(await judge((path) => path === restored)).toEqual(["checkpoint-200", "300", "llama_400"]);
  expect(await judge(() => false)).toEqual(["checkpoint-200"]);
});
