import { expect, test } from "vitest";
import { mayBePickle } from "./pickle-files.ts";

test.each([
  "optimizer.pt",
  "a/pytorch_model.bin",
  "training_args.bin",
  "rng_state_0.pth",
  "__0_0.distcp",
  "dcp/.metadata",
])("%s may be a pickle", (path) => expect(mayBePickle(path)).toBe(true));

test.each(["model.safetensors", "trainer_state.json", "model.gguf", "metadata", "weights.npz"])("%s is none", (path) =>
  expect(mayBePickle(path)).toBe(false),
);
