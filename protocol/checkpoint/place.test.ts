import { expect, test } from "vitest";
import { checkpointPlace, isBeside, mayLieBeside, placeOf, shownPlace } from "./place.ts";

const place = checkpointPlace.parse({ path: "version_0/checkpoints/epoch=5-step=600.ckpt", kind: "file" });

test("a checkpoint goes where it lay", () => {
  expect(placeOf({ step: 600, files: [{ path: "epoch=5-step=600.ckpt" }] }, place)).toEqual(place);
});

test("one from before places were kept goes under the name that is known", () => {
  expect(placeOf({ step: 600, files: [{ path: "epoch=5-step=600.ckpt" }] }, null)).toEqual({
    path: "epoch=5-step=600.ckpt",
    kind: "file",
  });
  expect(placeOf({ step: 500, files: [{ path: "model.safetensors" }] }, null)).toEqual({
    path: "checkpoint-500",
    kind: "folder",
  });
  expect(placeOf({ step: 500, files: [{ path: "a.pt" }, { path: "b.pt" }] }, undefined).path).toBe("checkpoint-500");
});

test("one of another tool keeps its folder's name", () => {
  const files = [{ path: "model.pt" }];
  const origin = { place: "team/llama/step_500/", kind: "folder" as const };
  expect(placeOf({ step: 500, files, origin }, null)).toEqual({ path: "step_500", kind: "folder" });
  expect(placeOf({ step: 500, files, origin: { place: "team/llama/ckpt_500.pt", kind: "file" } }, null)).toEqual({
    path: "ckpt_500.pt",
    kind: "file",
  });
});

test("a final model never has the name of a checkpoint", () => {
  expect(placeOf({ step: 9, role: "final-model", files: [] }, place).path).toBe("final-model");
});

test("a place never leads out of its folder", () => {
  for (const path of ["../x", "/etc/x", "a/../../x", "a//b", ""])
    expect(checkpointPlace.safeParse({ path, kind: "file" }).success, path).toBe(false);
  expect(checkpointPlace.safeParse({ ...place, beside: [{ path: "last.ckpt", link: "../../x" }] }).success).toBe(false);
});

test("pointers and settings lie beside a checkpoint; programs and logs do not", () => {
  const names = [
    "latest",
    "latest_checkpointed_iteration.txt",
    "checkpoint",
    "config.yaml",
    "hparams.yaml",
    "tokenizer.model",
  ];
  expect(names.filter((name) => !mayLieBeside(name))).toEqual([]);
  const others = [
    "train.py",
    "run.sh",
    "metrics.json",
    "train.log",
    "train_log.txt",
    ".bashrc",
    "package.json",
    "x.so",
  ];
  expect(others.filter(mayLieBeside)).toEqual([]);
});

test("what is shown of a place leaves out what lies beside", () => {
  const beside = [{ path: "latest", file: ".tidemark-beside/latest" }];
  expect(shownPlace.parse(checkpointPlace.parse({ ...place, beside }))).toEqual(place);
  expect([isBeside(".tidemark-beside/latest"), isBeside("latest")]).toEqual([true, false]);
});
