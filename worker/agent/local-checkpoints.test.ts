import { mkdir, mkdtemp, rm, symlink, utimes, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { basename, dirname, join } from "node:path";
import { afterEach, beforeEach, expect, test } from "vitest";
import { runName } from "#protocol/base/names.ts";
import { movedWith } from "./choose-resume.ts";
import { readLocalCheckpoints } from "./local-checkpoints.ts";

const SAFETENSORS = Buffer.concat([Buffer.from([2, 0, 0, 0, 0, 0, 0, 0]), Buffer.from("{}")]);

let folder: string;
beforeEach(async () => {
  folder = await mkdtemp(join(tmpdir(), "tidemark-local-"));
});
afterEach(() => rm(folder, { recursive: true, force: true }));

async function write(path: string, bytes: string | Buffer, atMs: number): Promise<void> {
  await mkdir(dirname(join(folder, path)), { recursive: true });
  await writeFile(join(folder, path), bytes);
  await utimes(join(folder, path), atMs / 1000, atMs / 1000);
}

async function found(watchedSince = 1_000_000) {
  const watch = { folder, run: runName.parse("story"), takes: null };
  const local = await readLocalCheckpoints(watch, {
    knows: () => false,
    isRestored: () => false,
    isUnfinished: () => false,
    watchedSince,
  });
  return local.map(({ step, state, content }) => [step, state, content]);
}

test("a program that begins anew keeps what is no model: its vocabulary, its features", async () => {
  const now = Date.now();
  for (const name of ["ckpt.pt", "training_state.json", "vocab.json", "features.npz", "words.pkl"])
    await write(name, SAFETENSORS, now);
  const watch = { folder, run: runName.parse("story"), takes: null };
  const evidence = { knows: () => true, isRestored: () => false, isUnfinished: () => false, watchedSince: 0 };
  const moved = async (...named: Parameters<typeof readLocalCheckpoints>) =>
    (await readLocalCheckpoints(...named)).flatMap((one) => movedWith(one, "start") ?? [basename(one.path)]);
  expect((await moved(watch, evidence)).toSorted()).toEqual(["ckpt.pt", "training_state.json"]);
  // What a person named is a checkpoint.
  const takes = (name: string) => /ckpt|words/.test(name);
  expect((await moved({ ...watch, takes }, evidence)).toSorted()).toEqual(["ckpt.pt", "words.pkl"]);
});

test("only checkpoints are found, lowest step first, with what shows that they are ones", async () => {
  await write("checkpoint-40/model.safetensors", SAFETENSORS, 2_000_000);
  await write("checkpoint-40/trainer_state.json", "{}", 2_000_000);
  await write("checkpoint-9/model.safetensors", "cut", 1_500_000);
  await write("samples_2026/samples.json", "[]", 2_000_000);
  await write("data_2026/train.bin", "tokens", 2_000_000);
  await mkdir(join(folder, "checkpoint-50"));
  await mkdir(join(folder, "logs_2027"));
  await write("step_60/config.json", "{}", 2_000_000);
  await write("epoch_70/log.txt", "text", 2_000_000);
  expect(await found()).toEqual([
    [9, "torn", "weights"],
    [40, "whole", "framework"],
    // Its program had just made it when it was killed.
    [50, "torn", "empty"],
    // Or had only described its model.
    [60, "torn", "text"],
  ]);
});

test("a folder that cannot be looked at keeps no program from starting", async () => {
  await write("checkpoint-40/trainer_state.json", "{}", 2_000_000);
  await mkdir(join(folder, "data_2026"));
  await symlink(tmpdir(), join(folder, "data_2026", "linked"));
  expect(await found()).toEqual([[40, "whole", "framework"]]);
});

test("a state with a bare NaN (usual with fp16) or a byte order mark is whole, so that a restart goes on from it", async () => {
  await write(
    "checkpoint-40/trainer_state.json",
    '{"global_step": 40, "log_history": [{"grad_norm": NaN}]}',
    2_000_000,
  );
  await write("checkpoint-50/trainer_state.json", '\ufeff{"global_step": 50, "loss": -Infinity}', 2_500_000);
  expect((await found()).map(([step, state]) => [step, state])).toEqual([
    [40, "whole"],
    [50, "whole"],
  ]);
});

test("a checkpoint in which a link leads nowhere lacks that file", async () => {
  for (const step of [40, 50]) await write(`checkpoint-${step}/trainer_state.json`, "{}", step * 50_000);
  await symlink(join(folder, "blobs/sha256"), join(folder, "checkpoint-50/model.safetensors"));
  expect((await found()).map(([step, state]) => [step, state])).toEqual([
    [40, "whole"],
    [50, "torn"],
  ]);
});

test.each(["/nonexistent/logs", "self", "trainer_state.json/x"])(
  "a link to %s in place of neither weights nor state makes nothing of a checkpoint missing",
  async (target) => {
    await write("checkpoint-40/trainer_state.json", "{}", 2_000_000);
    await write("checkpoint-40/model.safetensors", "weights", 2_000_000);
    const name = target === "self" ? target : "logs";
    await symlink(target, join(folder, "checkpoint-40", name));
    expect((await found()).map(([step, state]) => [step, state])).toEqual([[40, "whole"]]);
  },
);

test("what was captured although it may be unfinished is doubtful, until a restore put it there or training went on", async () => {
  await write("step_40/model.bin", "weights", 2_000_000);
  const watch = { folder, run: runName.parse("story"), takes: null };
  const stateWith = async (isUnfinished: boolean, isRestored: boolean) => {
    const evidence = { knows: () => true, isRestored: () => isRestored, isUnfinished: () => isUnfinished };
    return (await readLocalCheckpoints(watch, { ...evidence, watchedSince: 0 })).map(({ state }) => state);
  };
  expect(await stateWith(false, false)).toEqual(["whole"]);
  expect(await stateWith(true, false)).toEqual(["doubtful"]);
  expect(await stateWith(true, true)).toEqual(["whole"]);
  await write("step_50/model.bin", "weights", 3_000_000);
  expect(await stateWith(true, false)).toEqual(["whole", "doubtful"]);
});

test("what was captured as doubtful is torn by its own files, and what was restored is whole", async () => {
  await write(
    "checkpoint-40/model.safetensors.index.json",
    '{"weight_map":{"a":"model-00001.safetensors"}}',
    2_000_000,
  );
  await write("checkpoint-40/trainer_state.json", "{}", 2_000_000);
  const watch = { folder, run: runName.parse("story"), takes: null };
  const evidence = { knows: () => true, isUnfinished: () => true, watchedSince: 0 };
  const stateOf = async (isRestored: boolean) =>
    (await readLocalCheckpoints(watch, { ...evidence, isRestored: () => isRestored })).map(({ state }) => state);
  expect(await stateOf(false)).toEqual(["torn"]);
  expect(await stateOf(true)).toEqual(["whole"]);
});
