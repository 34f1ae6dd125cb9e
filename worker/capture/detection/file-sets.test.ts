import { expect, test } from "vitest";
import { isModelName, readFileName } from "#protocol/recognition/checkpoint-file-names.ts";
import { fileSetsOf } from "./file-sets.ts";
import type { SavedFile } from "./group-by-step.ts";

const AT = Date.parse("2026-01-01T12:00:00Z");

/** A file that was written `seconds` after noon. */
function file(name: string, about: { seconds?: number; inside?: number } = {}): SavedFile {
  const read = readFileName(name);
  if (read === null) throw new Error(`${name} is no file of a saver`);
  return {
    name,
    read,
    isModel: isModelName(name),
    isKnown: false,
    mtimeMs: AT + (about.seconds ?? 0) * 1000,
    inside: about.inside ?? null,
  };
}

test("files of one step are one checkpoint", () => {
  const found = fileSetsOf(
    ["model_step_10.pt", "optim_step_10.pt", "model_step_20.pt", "optim_step_20.pt"].map((name) => file(name)),
  );
  expect(found).toMatchObject([
    { names: ["model_step_10.pt", "optim_step_10.pt"], step: 10, stepFrom: "name", lacks: null },
    { names: ["model_step_20.pt", "optim_step_20.pt"], step: 20, lacks: null },
  ]);
});

test("a step that lacks what the others have is named", () => {
  const names = ["model_10.pt", "optim_10.pt", "model_20.pt", "optim_20.pt", "model_30.pt"];
  expect(fileSetsOf(names.map((name) => file(name))).at(-1)).toMatchObject({ step: 30, lacks: "optim_30.pt" });
});

test("a rank whose file is missing is named, until the run goes on with fewer ranks", () => {
  const names = [0, 1].flatMap((rank) => [10, 20].map((step) => `ep0-ba${step}-rank${rank}.pt`));
  const lacks = (...more: string[]) =>
    fileSetsOf([...names, ...more].map((name) => file(name))).map((set) => set.lacks);
  expect(lacks("ep0-ba30-rank0.pt")).toEqual([null, null, "ep30-ba30-rank1.pt"]);
  expect(lacks("ep0-ba30-rank0.pt", "ep0-ba30-rank1.pt")).toEqual([null, null, null]);
  expect(lacks("ep0-ba30-rank0.pt", "ep0-ba40-rank0.pt")).toEqual([null, null, null, null]);
});

test("what is written only sometimes is not asked for", () => {
  const names = ["ckpt_10.pt", "best_10.pt", "ckpt_20.pt", "ckpt_30.pt"];
  expect(fileSetsOf(names.map((name) => file(name))).map(({ lacks }) => lacks)).toEqual([null, null, null]);
});

test("stable-baselines3 writes a model, a replay buffer and statistics", () => {
  const names = [
    "rl_model_8000_steps.zip",
    "rl_model_replay_buffer_8000_steps.pkl",
    "rl_model_vecnormalize_8000_steps.pkl",
  ];
  expect(fileSetsOf(names.map((name) => file(name)))).toMatchObject([{ names, step: 8_000 }]);
});

test("Lightning's last.ckpt goes with the step that it holds, or was written with", () => {
  const inside = [file("epoch=5-step=600.ckpt", { inside: 600 }), file("last.ckpt", { inside: 600 })];
  expect(fileSetsOf(inside)).toMatchObject([{ names: ["epoch=5-step=600.ckpt", "last.ckpt"], step: 600 }]);
  const beside = [file("ckpt_1.pt"), file("ckpt_2.pt", { seconds: 300 }), file("last.pt", { seconds: 301 })];
  expect(fileSetsOf(beside)).toMatchObject([{ names: ["ckpt_1.pt"] }, { names: ["ckpt_2.pt", "last.pt"] }]);
  const later = [file("epoch=5-step=600.ckpt"), file("last.ckpt", { seconds: 600, inside: 650 })];
  expect(fileSetsOf(later)).toMatchObject([{ step: 600 }, { names: ["last.ckpt"], step: 650, stepFrom: "inside" }]);
});

test("the best one so far goes with what is trained now", () => {
  const found = fileSetsOf([
    file("checkpoint-2.pth.tar"),
    file("model_best.pth.tar", { inside: 2 }),
    file("last.pth.tar", { seconds: 60, inside: 3 }),
  ]);
  expect(found.map(({ names, step }) => [step, ...names])).toEqual([
    [2, "checkpoint-2.pth.tar"],
    [3, "last.pth.tar", "model_best.pth.tar"],
  ]);
});

test("an epoch in the name is no step where the file knows its step", () => {
  expect(fileSetsOf([file("epoch=3-val_loss=0.58.ckpt", { inside: 400 })])).toMatchObject([
    { step: 400, stepFrom: "inside" },
  ]);
  expect(fileSetsOf([file("epoch=3-val_loss=0.58.ckpt")])).toMatchObject([{ step: 3, stepFrom: "name" }]);
});

test("files that are written in place are one state, by the step inside or else by time", () => {
  expect(fileSetsOf([file("ckpt.pt", { inside: 250 })])).toMatchObject([{ names: ["ckpt.pt"], step: 250 }]);
  const state = [file("best.pt", { seconds: -500 }), file("last.pt"), file("optimizer.pt", { seconds: 2 })];
  expect(fileSetsOf(state)).toMatchObject([
    { names: ["optimizer.pt", "best.pt", "last.pt"], step: AT / 1000 + 2, stepFrom: "time", isSaverName: true },
  ]);
  const others = [file("ckpt.pt"), file("vae.pt", { seconds: -5_000 })];
  expect(fileSetsOf(others)).toMatchObject([{ names: ["ckpt.pt"] }]);
});

test("text beside nothing is no checkpoint", () => {
  expect(fileSetsOf([file("model_10.json")])).toEqual([]);
});

const setsOf = (files: readonly SavedFile[]) =>
  fileSetsOf(files).map(({ names, lacks }) => (lacks === null ? names : [...names, `lacks ${lacks}`]));
const HOUR = 3_600;

test("files of one step that two trainings wrote hours apart are two checkpoints, and lack nothing of each other", () => {
  const runA = [10, 20, 30].map((step) => file(`runA_step_${step}.pt`, { seconds: step }));
  const runB = [10, 20].map((step) => file(`runB_step_${step}.pt`, { seconds: 2 * HOUR + step }));
  expect(setsOf([...runA, ...runB])).toEqual([
    ["runA_step_10.pt"],
    ["runB_step_10.pt"],
    ["runA_step_20.pt"],
    ["runB_step_20.pt"],
    ["runA_step_30.pt"],
  ]);
  const lora = [file("lora_a-10.safetensors"), file("lora_b-10.safetensors", { seconds: HOUR })];
  expect(setsOf(lora)).toEqual([["lora_a-10.safetensors"], ["lora_b-10.safetensors"]]);
});

test("a training that began minutes after another one has files of its own", () => {
  const runA = [10, 20, 30].map((step) => file(`runA_step_${step}.pt`, { seconds: step }));
  const runB = [10, 20].map((step) => file(`runB_step_${step}.pt`, { seconds: 200 + step }));
  expect(setsOf([...runA, ...runB]).flat()).not.toContain("lacks runA_step_10.pt");
  expect(setsOf([...runA, ...runB])).toHaveLength(5);
});

test("adapters that are saved together are one checkpoint, also where one comes minutes after the other", () => {
  const lora = [10, 20, 30].flatMap((step) => [
    file(`lora_a-${step}.safetensors`, { seconds: step * 20 }),
    file(`lora_b-${step}.safetensors`, { seconds: step * 20 + 250 }),
  ]);
  expect(setsOf(lora)).toEqual(
    [10, 20, 30].map((step) => [`lora_a-${step}.safetensors`, `lora_b-${step}.safetensors`]),
  );
});

test("a step that is written again does not take what the training before left of it", () => {
  const before = [10, 20].flatMap((step) => [
    file(`model_${step}.pt`, { seconds: step }),
    file(`optim_${step}.pt`, { seconds: step + 1 }),
  ]);
  const anew = [...before.filter(({ name }) => name !== "model_10.pt"), file("model_10.pt", { seconds: 300 })];
  expect(setsOf(anew)).toEqual([
    ["optim_10.pt", "lacks model_10.pt"],
    ["model_10.pt", "lacks optim_10.pt"],
    ["model_20.pt", "optim_20.pt"],
  ]);
});

test("names that differ at each step are one line", () => {
  const names = ["ckpt_10_ab.pt", "ckpt_20_cd.pt", "ckpt_30_ef.pt", "ckpt_40_gh.pt"];
  expect(fileSetsOf(names.map((name) => file(name))).map(({ isAlone }) => isAlone)).toEqual([
    false,
    false,
    false,
    false,
  ]);
});
