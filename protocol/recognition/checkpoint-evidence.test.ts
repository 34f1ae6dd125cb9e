import { expect, test } from "vitest";
import {
  contentEvidenceOf,
  holdsCheckpoints,
  nameEvidenceOf,
  sequenceOf,
  whyNoCheckpoint,
  type CheckpointEvidence,
  type ContentEvidence,
} from "./checkpoint-evidence.ts";

test.each([
  ["checkpoint-500", "word"],
  ["step_500", "word"],
  ["global_step1200", "word"],
  ["iter_0000100", "word"],
  ["epoch=1-step=900.ckpt", "word"],
  ["model_step_10.pt", "word"],
  ["lr-temp-step-500", "word"],
  ["ckpt-v2-1500", "word"],
  ["100", "number"],
  ["samples_2026", "suffix"],
  ["tokenizer-32000", "suffix"],
  ["data_2026", "suffix"],
  ["images_512", "suffix"],
  ["llama_100", "suffix"],
  ["version_0", "suffix"],
  ["footstep_9", "suffix"],
])("the name %s is evidence of the kind %s", (name, evidence) => {
  expect(nameEvidenceOf(name)).toBe(evidence);
});

const files = (...names: string[]) => names.map((relative) => ({ relative, sizeBytes: 10 }));

test.each<[ContentEvidence, string[]]>([
  ["framework", ["model.safetensors", "trainer_state.json"]],
  ["framework", ["__0_0.distcp", ".metadata"]],
  ["framework", ["default/_METADATA", "_CHECKPOINT_METADATA"]],
  ["framework", ["mp_rank_00_model_states.pt"]],
  ["framework", ["random_states_0.pkl", "model.bin"]],
  ["weights", ["config.json", "model.safetensors"]],
  ["weights", ["pytorch_model-00001-of-00002.bin"]],
  ["weights", ["optimizer.bin"]],
  ["weights", ["model.safetensors.tmp"]],
  ["container", ["data.npz", "readme.md"]],
  ["opaque", ["train.bin"]],
  ["opaque", ["weights.dat"]],
  ["text", ["config.json", "tokenizer.json"]],
  ["text", ["samples.json"]],
  ["text", ["0001.png", "_SUCCESS", "events.out.tfevents.1.host"]],
  ["empty", []],
])("content is %s: %j", (evidence, names) => {
  expect(contentEvidenceOf(files(...names))).toBe(evidence);
});

test("the first bytes tell weights from data where the name does not", () => {
  expect(contentEvidenceOf(files("train.bin"), () => true)).toBe("weights");
});

test("a folder of checkpoints is told from a checkpoint", () => {
  expect(holdsCheckpoints(files("checkpoint-100/model.safetensors"))).toBe(true);
  expect(holdsCheckpoints(files("checkpoints/epoch=5-step=600.ckpt"))).toBe(true);
  expect(holdsCheckpoints(files("model/__0_0.distcp", ".metadata"))).toBe(false);
});

test("numbers are no part of a sequence's name", () => {
  expect(sequenceOf("llama_100")).toBe(sequenceOf("llama_2000"));
  expect(sequenceOf("checkpoint-40")).not.toBe(sequenceOf("samples_2026"));
});

const evidence = (given: Partial<CheckpointEvidence>): CheckpointEvidence => ({
  name: "suffix",
  isCalledCheckpoint: false,
  content: "weights",
  isNamed: false,
  holdsCheckpoints: false,
  isBesideOthers: false,
  isOfThisRun: true,
  ...given,
});

test.each<[string, Partial<CheckpointEvidence>, boolean]>([
  ["a word and an unknown format", { name: "word", content: "opaque" }, true],
  ["a word and text only", { name: "word", content: "text" }, false],
  [
    "a folder that is called a checkpoint, with text only",
    { name: "word", content: "text", isCalledCheckpoint: true },
    true,
  ],
  ["a word that a person's pattern covers, with text only", { name: "word", content: "text", isNamed: true }, true],
  ["nothing in it, whatever the name", { name: "word", content: "empty", isNamed: true }, false],
  ["a number and weights", { name: "number", isOfThisRun: false }, true],
  ["a number and data", { name: "number", content: "container" }, false],
  ["a number beside checkpoint-40", { name: "number", isBesideOthers: true }, false],
  ["another name, with weights that the program wrote", {}, true],
  ["another name, with weights that were there before", { isOfThisRun: false }, false],
  ["another name, with a framework's files that were there before", { content: "framework", isOfThisRun: false }, true],
  ["another name, with weights, beside checkpoint-40", { isBesideOthers: true }, false],
  ["another name, with raw data", { content: "opaque" }, false],
  ["a folder of checkpoints", { holdsCheckpoints: true, content: "framework" }, false],
])("%s: a checkpoint or not", (_, given, isCheckpoint) => {
  expect(whyNoCheckpoint(evidence(given)) === null).toBe(isCheckpoint);
});
