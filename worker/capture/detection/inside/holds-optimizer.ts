import { pairsOf } from "#storage/inspect/torch-values.ts";
import { readPickleOf } from "./read-pickle-of.ts";

/** Keys under which training loops keep the state of the optimizer. */
const OPTIMIZER = /^(optim|opt$|optimizers?$|optimizer_)/i;

/**
 * Returns whether a file of `torch.save` has the state of an optimizer beside the weights, so that it is all of a checkpoint. Nothing
 * in it is executed. No faults.
 */
export async function holdsOptimizer(path: string, sizeBytes: number): Promise<boolean> {
  const value = await readPickleOf(path, sizeBytes);
  const names = value === null ? null : pairsOf(value);
  const keys = (names ?? []).flatMap(([name]) => (typeof name === "string" ? [name] : []));
  return keys.length > 1 && keys.some((name) => OPTIMIZER.test(name));
}
