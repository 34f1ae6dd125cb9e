import { readdir } from "node:fs/promises";
import { basename } from "node:path";
import { isTemporaryName, stepOf } from "#protocol/recognition/checkpoint-layouts.ts";
import { PRETRAINED_WEIGHTS } from "#protocol/recognition/checkpoint-evidence.ts";
import { codeOf, diskFault } from "#worker/base/disk-fault.ts";
import type { Candidate } from "./find.ts";

/**
 * Weights that `save_pretrained` left in a folder below the watched one, or that their saver stripped there or in the watched
 * folder itself.
 */
export interface FinalBelow {
  path: string;
  names: readonly string[];
  /** When the newest of the weights was written, epoch ms. */
  writtenMs: number;
}

/**
 * Finds the weights that a program leaves in the watched folder itself, as `trainer.save_model()` and `save_pretrained()` do:
 * the final model of the run. It has no state to resume from, so it is no checkpoint. It is kept with the small files that a
 * loader reads beside it, under their names. Sources of the names: transformers, PEFT, diffusers, tokenizers, sentencepiece.
 */

/**
 * Files that loaders read beside the weights. The list is closed: results and logs beside them (`eval_results.json`) change
 * without the model, and each change would send all of the weights again.
 */
const COMPANION =
  /^((adapter_|generation_|preprocessor_|processor_|video_preprocessor_|feature_extractor_|tokenizer_)?config\.json|config_sentence_transformers\.json|model_index\.json|modules\.json|[\w.-]+\.index\.json|tokenizer\.(json|model)|special_tokens_map\.json|added_tokens\.json|vocab\.(json|txt)|merges\.txt|spiece\.model|sentencepiece(\.bpe)?\.model|[\w-]+\.tiktoken|chat_template\.(jinja|json)|training_args\.bin)$/;

/** Returns the names that belong to a final model; none where there are no weights. */
export function finalModelNames(names: readonly string[]): string[] {
  const own = names.filter((name) => !isTemporaryName(name) && stepOf(name, "file") === null);
  if (!own.some((name) => PRETRAINED_WEIGHTS.test(name))) return [];
  return own.filter((name) => PRETRAINED_WEIGHTS.test(name) || COMPANION.test(name)).toSorted();
}

/** Time without a change that makes the weights in a deeper folder final: training may rewrite them again and again. */
export const FINAL_QUIET_MS = 600_000;

/**
 * Returns the newest weights below a watched folder that were written after the newest checkpoint. Older ones may be a download
 * of the program. `quietMs`: how long they must have been unchanged. Null: there are none. Pure.
 */
export function finalModelBelow(
  finals: readonly FinalBelow[],
  about: { newestCheckpointMs: number | null; now: number; quietMs: number },
): Omit<Candidate, "step"> | null {
  const { newestCheckpointMs, now, quietMs } = about;
  const [newest] = finals.toSorted((a, b) => b.writtenMs - a.writtenMs);
  if (newest === undefined || newestCheckpointMs === null || newest.writtenMs <= newestCheckpointMs) return null;
  // With 0, at the end of the program, nothing is awaited, even when the clock of the disk is ahead.
  if (quietMs > 0 && now - newest.writtenMs < quietMs) return null;
  const { path, names } = newest;
  return { path, name: basename(path), kind: "folder", role: "final-model", names: names.toSorted() };
}

/** Returns the final model in a watched folder, without its step; null where there is none. Faults: READ_FAILED. */
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
