import { expect, test } from "vitest";
import { beganElsewhereWords } from "./passed-over.ts";

const START = "was given step 200 and began at the beginning: ";
const wordsOf = (path: string | null, wrote: string | null) =>
  beganElsewhereWords({ given: 200, from: null, path, wrote });

test.each<[string, string | null, string | null, string]>([
  ["nothing is known", null, null, "it looks for its checkpoint somewhere else"],
  [
    "it wrote nothing yet",
    "/w/checkpoint-200",
    null,
    "it looks for its checkpoint somewhere else than /w/checkpoint-200",
  ],
  [
    "it chose another folder",
    "/w/lightning_logs/version_0/checkpoints/epoch=3-step=200.ckpt",
    "/w/lightning_logs/version_1/checkpoints/epoch=0-step=50.ckpt",
    "it writes to version_1/checkpoints/epoch=0-step=50.ckpt and most likely looks there; what was restored lies at version_0/checkpoints/epoch=3-step=200.ckpt, in /w/lightning_logs",
  ],
  [
    "it writes below the folder of what was restored",
    "/checkpoint-200",
    "/out/checkpoint-50",
    "it writes to out/checkpoint-50 and most likely looks there; what was restored lies at checkpoint-200, in /",
  ],
  [
    "it calls them otherwise",
    "/w/checkpoint-200",
    "/w/step_50",
    "it names its checkpoints like step_50 and most likely looks for such names; what was restored is /w/checkpoint-200",
  ],
  [
    "it calls them the same",
    "/w/epoch=3-val_loss=0.58.ckpt",
    "/w/epoch=0-val_loss=1.9e-05.ckpt",
    "it wrote epoch=0-val_loss=1.9e-05.ckpt beside /w/epoch=3-val_loss=0.58.ckpt, with a name of the same form, so it most likely loads no checkpoint",
  ],
  [
    "it wrote over it",
    "/w/last.ckpt",
    "/w/last.ckpt",
    "it wrote over /w/last.ckpt, so it most likely loads no checkpoint",
  ],
])("where a program looks is inferred from what it wrote: %s", (...[, path, wrote, says]) => {
  expect(wordsOf(path, wrote)).toBe(START + says);
});
