import { step as stepSchema } from "#protocol/base/names.ts";
import type { PickleValue } from "#storage/inspect/pickle/pickle-value.ts";
import { pairsOf } from "#storage/inspect/torch-values.ts";
import { FINAL } from "../file-sets.ts";
import { readPickleOf } from "./read-pickle-of.ts";

/** The names under which training loops keep their counter, most exact first. */
const COUNTERS = [
  "global_step",
  "iter_num",
  "iteration",
  "num_timesteps",
  "global_iter",
  "train_step",
  "step",
  "steps",
  "iter",
  "it",
  "epoch",
] as const;

/**
 * Returns the step in a file of `torch.save` (`global_step`, `iter_num`, `epoch`). `FINAL`: ultralytics stripped it at the end.
 * Null: it holds none, or has another format. No faults.
 */
export async function readStepInside(path: string, sizeBytes: number): Promise<number | null> {
  const value = await readPickleOf(path, sizeBytes);
  return value === null ? null : counterIn(value);
}

function counterIn(value: PickleValue): number | null {
  const pairs = pairsOf(value);
  if (pairs === null) return null;
  const top = new Map(pairs.flatMap(([name, held]) => (typeof name === "string" ? [[name, held] as const] : [])));
  for (const name of COUNTERS) {
    const held = top.get(name);
    const found = stepSchema.safeParse(typeof held === "bigint" ? Number(held) : held);
    if (found.success) return found.data;
    if (name === "epoch" && held === FINAL && top.get("optimizer") === null) return FINAL;
  }
  return null;
}
