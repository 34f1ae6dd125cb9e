import { expect, test } from "vitest";
import { stepOf } from "#protocol/recognition/checkpoint-layouts.ts";
import { stepOfNamed } from "./find.ts";

test.each([
  ["checkpoint-500", 500],
  ["step_500", 500],
  ["step-42", 42],
  ["global_step1200", 1200],
  ["epoch=1-step=900.ckpt", 900],
  ["iter_0000100", 100],
  ["7", 7],
  ["ckpt_20240102-000130", 1_704_153_690],
  ["checkpoint-20240102-step=30", 30],
  ["lr-temp-step-500", 500],
  ["temp-0.7-step-500", 500],
  ["partial-freeze-step-500", 500],
])("the folder %s is step %i", (name, step) => {
  expect(stepOf(name, "folder")).toBe(step);
});

test.each([
  ["epoch=1-step=900.ckpt", 900],
  ["checkpoint-12.safetensors", 12],
  ["step=3.pt", 3],
])("the file %s is step %i", (name, step) => {
  expect(stepOf(name, "file")).toBe(step);
});

test.each([
  "checkpoint-500.tmp",
  ".checkpoint-500",
  "tmp-checkpoint-500",
  "temp_checkpoint-500",
  "step-500-partial",
  "step_500.part",
  "step_500.tmp.17",
  "checkpoint-500.partial",
  "500.orbax-checkpoint-tmp-17",
  "runs",
  "latest",
  "version_0",
  "train2",
  "seed_3",
  "2024-01-01",
  "2024-01-01_12-30-00",
  "12-30-00",
])("%s is not a finished checkpoint's name", (name) => {
  expect(stepOf(name, "folder")).toBeNull();
});

test.each(["trainer_state.json", "events.out.12", "log500.txt", "model500.safetensors.tmp"])(
  "the file %s is no checkpoint",
  (name) => {
    expect(stepOf(name, "file")).toBeNull();
  },
);

test("where a person says which names are checkpoints, the last number of a name is its step", () => {
  const takes = (name: string) => name.startsWith("ckpt");
  expect(stepOfNamed("ckpt-v2-1500", { kind: "folder", takes })).toBe(1500);
  expect(stepOfNamed("ckpt_20.h5", { kind: "file", takes })).toBe(20);
  expect(stepOfNamed("ckpt-final", { kind: "folder", takes })).toBeNull();
  expect(stepOfNamed("ckpt-7.tmp", { kind: "folder", takes })).toBeNull();
  expect(stepOfNamed("step-7", { kind: "folder", takes })).toBeNull();
  // A result is no step, and a date is one where no number follows it.
  expect(stepOfNamed("ckpt-epoch=03-val_loss=0.21.ckpt", { kind: "file", takes })).toBe(3);
  expect(stepOfNamed("ckpt-run=5-ckpt=100.pt", { kind: "file", takes })).toBe(100);
  expect(stepOfNamed("ckpt-0.95", { kind: "folder", takes })).toBe(95);
  expect(stepOfNamed("ckpt_20240102-000130.pt", { kind: "file", takes })).toBe(1_704_153_690);
  expect(stepOfNamed("ckpt_20240102-000130", { kind: "folder", takes })).toBe(1_704_153_690);
  expect(stepOfNamed("ckpt_20240102-000130-700", { kind: "folder", takes })).toBe(700);
  // What was restored lies under our own name.
  expect(stepOfNamed("checkpoint-7", { kind: "folder", takes })).toBe(7);
});
