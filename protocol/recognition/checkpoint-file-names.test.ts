import { expect, test } from "vitest";
import { isLabelName, isModelName, partOf, readFileName } from "./checkpoint-file-names.ts";

test.each([
  ["epoch=5-step=600.ckpt", 600, "step"],
  ["epoch=03-val_loss=0.21.ckpt", 3, "epoch"],
  ["epoch=3-val_loss=0.58.ckpt", 3, "epoch"],
  ["model_0004999.pth", 4999, "number"],
  ["checkpoint-10.pth.tar", 10, "number"],
  ["rl_model_10000_steps.zip", 10_000, "step"],
  ["rl_model_replay_buffer_10000_steps.pkl", 10_000, "step"],
  ["lora-000010.safetensors", 10, "number"],
  ["ep0-ba500-rank0.pt", 500, "step"],
  ["5epoch.pth", 5, "epoch"],
  ["epoch5.pt", 5, "epoch"],
  ["checkpoint-250.gguf", 250, "number"],
  ["ckpt_50.pt", 50, "number"],
  ["model_step_10.pt", 10, "step"],
  ["optim_step_10.pt", 10, "step"],
  ["model_10.ubj", 10, "number"],
  ["weights.01-0.50.keras", 1, "number"],
  ["iter_0000100.pt", 100, "step"],
  ["ckpt_20240102-000130.pt", 1_704_153_690, "date"],
  ["G_2333333.pth", 2_333_333, "number"],
])("%s is %i by its %s", (name, step, from) => {
  expect(readFileName(name)).toMatchObject({ step, from });
});

test.each([
  "ckpt.pt",
  "last.pt",
  "best.pt",
  "last.ckpt",
  "checkpoint.pth",
  "latest.pth",
  "best_model.zip",
  "model_last.pth",
])("%s has no step, and is a name of savers", (name) => {
  expect(readFileName(name)).toEqual({ step: null, from: null, isSaverName: true });
});

test.each(["resnet50.pth", "vae.pt", "model_fp16.safetensors", "llama-7b.gguf"])("%s has no step", (name) => {
  expect(readFileName(name)).toEqual({ step: null, from: null, isSaverName: false });
});

test.each(["events.out.12", "log500.txt", "model500.safetensors.tmp", ".step_5.pt", "sample_100.png", "metrics.csv"])(
  "%s is no file of a saver",
  (name) => {
    expect(readFileName(name)).toBeNull();
  },
);

test("labels go with a step, the only checkpoint does not", () => {
  expect(["last.ckpt", "best.pt", "best_model.zip", "ckpt.pt"].map(isLabelName)).toEqual([true, true, true, false]);
});

test("text alone is no checkpoint", () => {
  expect([isModelName("model_10.json"), isModelName("model_10.ubj")]).toEqual([false, true]);
});

test("the parts of a step keep their names", () => {
  expect(partOf("model_step_10.pt")).toBe(partOf("model_step_20.pt"));
  expect(partOf("model_step_10.pt")).not.toBe(partOf("optim_step_10.pt"));
  expect(partOf("ep0-ba500-rank0.pt")).toBe(partOf("ep1-ba900-rank0.pt"));
  expect(partOf("ep0-ba500-rank0.pt")).not.toBe(partOf("ep0-ba500-rank1.pt"));
  expect(partOf("model_step10-00001-of-00002.pt")).not.toBe(partOf("model_step10-00002-of-00002.pt"));
  expect(partOf("gpu0_step5_tp1.pt")).toBe("gpu0_step#_tp1.pt");
  expect(partOf("epoch=3-val_loss=0.58.ckpt")).toBe(partOf("epoch=4-val_loss=0.6.ckpt"));
});
