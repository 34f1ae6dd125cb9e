import { step as stepSchema } from "#protocol/base/names.ts";
import type { PickleValue } from "#storage/inspect/pickle/pickle-value.ts";
import { pairsOf } from "#storage/inspect/torch-values.ts";
import { FINAL } from "../file-sets.ts";
import { readHeaderCounters } from "./read-header-counters.ts";
import { readPickleOf } from "./read-pickle-of.ts";

/** The names under which training loops keep their counter, most exact first. */
const COUNTERS = [
  "global_step",
  "global_steps",
  "iter_num",
  "iteration",
  "iterations",
  "num_timesteps",
  "global_iter",
  "num_updates",
  "train_step",
  "step",
  "steps",
  "iter",
  "it",
  "epoch",
  // A learning rate scheduler counts steps under this name.
  "last_epoch",
] as const;
/** Dictionaries in which programs keep their counters beside the weights: MMEngine's `meta`, fairseq's `extra_state`. */
const NESTED: ReadonlySet<string> = new Set(["meta", "extra_state", "train_state", "training_state", "trainer_state"]);
/** Formats with their counters in a header or in named arrays. */
const WITH_HEADER = /\.(safetensors|gguf|npz|ubj|json|keras|h5|hdf5)$/i;

/**
 * Returns the step in a file (`global_step`, `iter_num`, `epoch`): of `torch.save` in both forms, of `pickle` and joblib, in the
 * metadata of safetensors and GGUF, in an array of `.npz`, the rounds of XGBoost, and the steps of the optimizer of Keras. `FINAL`: ultralytics stripped it at the end.
 * Null: it holds none, or has another format. Nothing in it is executed, and bounded parts of it are read. No faults.
 */
export async function readStepInside(path: string, sizeBytes: number): Promise<number | null> {
  if (WITH_HEADER.test(path)) return chooseCounter(await readHeaderCounters(path, sizeBytes));
  const value = await readPickleOf(path, sizeBytes);
  return value === null ? null : counterIn(value);
}

function counterIn(value: PickleValue): number | null {
  const top = namedIn(value);
  if (top === null) return null;
  const own = chooseCounter(top);
  if (own !== null) return own;
  for (const [name, held] of top) {
    const inner = NESTED.has(name) ? namedIn(held) : null;
    const found = inner === null ? null : chooseCounter(inner);
    if (found !== null && found !== FINAL) return found;
  }
  return null;
}

function namedIn(value: PickleValue | undefined): Map<string, PickleValue> | null {
  const pairs = pairsOf(value);
  if (pairs === null) return null;
  return new Map(pairs.flatMap(([name, held]) => (typeof name === "string" ? [[name, held] as const] : [])));
}

function chooseCounter(named: ReadonlyMap<string, PickleValue>): number | null {
  for (const name of COUNTERS) {
    const held = named.get(name);
    const found = stepSchema.safeParse(typeof held === "bigint" ? Number(held) : held);
    if (found.success) return found.data;
    if (name === "epoch" && held === FINAL && named.get("optimizer") === null) return FINAL;
  }
  return null;
}
