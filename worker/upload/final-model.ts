import { readdir } from "node:fs/promises";
import { basename } from "node:path";
import { isTemporaryName, stepOf } from "#protocol/checkpoint-layouts.ts";
import { PRETRAINED_WEIGHTS } from "#protocol/checkpoint-evidence.ts";
import { codeOf, diskFault } from "../engine/disk-fault.ts";
import type { Candidate } from "./find.ts";

/**
 * The weights that a program leaves in the watched folder itself, as `trainer.save_model()` and `save_pretrained()` do: the
 * final model of the run. It has no state to go on from, so it is no checkpoint; it is kept with the small files that a
 * loader reads beside it, under their names. Sources of the names: transformers, PEFT, diffusers, tokenizers, sentencepiece.
 */

/** What loaders read beside the weights, and what the Trainer says of the training. */
const COMPANION =
  /\.(json|txt|model|jinja|md|ya?ml|tiktoken|spm|vocab|bpe|py)$|^(training_args\.bin|added_tokens\.json|merges\.txt)$/i;

/** Logs and results of one evaluation change all the time and are no part of the model. */
const NO_COMPANION = /^(events\.out\.tfevents|log|train(ing)?_log)/i;

/** Returns which of these names belong to a final model; none where there are no weights. */
export function finalModelNames(names: readonly string[]): string[] {
  const own = names.filter((name) => !isTemporaryName(name) && stepOf(name, "file") === null);
  if (!own.some((name) => PRETRAINED_WEIGHTS.test(name))) return [];
  return own
    .filter((name) => PRETRAINED_WEIGHTS.test(name) || (COMPANION.test(name) && !NO_COMPANION.test(name)))
    .toSorted();
}

/** Returns the final model in a watched folder, of a step that is still to be found; null where there is none. Faults: READ_FAILED. */
export async function findFinalModel(folder: string): Promise<Omit<Candidate, "step"> | null> {
  try {
    const entries = await readdir(folder, { withFileTypes: true });
    const names = finalModelNames(entries.filter((entry) => entry.isFile()).map(({ name }) => name));
    if (names.length === 0) return null;
    return { path: folder, name: basename(folder), kind: "folder", role: "final-model", names };
  } catch (error) {
    if (codeOf(error) === "ENOENT" || codeOf(error) === "ENOTDIR") return null;
    throw diskFault(error, { op: "watch", subject: folder, otherwise: "READ_FAILED" });
  }
}
