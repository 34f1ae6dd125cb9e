import { stat } from "node:fs/promises";
import { basename } from "node:path";
import * as z from "zod";
import type { PickleValue } from "#storage/inspect/pickle/pickle-value.ts";
import { isCall, pairsOf } from "#storage/inspect/torch-values.ts";
import { readTrainerState } from "../capture/detection/read-global-step.ts";
import { readPickleOf } from "../capture/detection/inside/read-pickle-of.ts";

/**
 * Finds the other checkpoints that the state of a checkpoint names: the best one of transformers' Trainer, the best and the top
 * k of Lightning. Frameworks load or delete them later by these names. Sources: `TrainerState.best_model_checkpoint`,
 * `ModelCheckpoint.state_dict`.
 */

const trainerState = z.object({ best_model_checkpoint: z.string().max(4096).nullish() });

/** Returns the names of other checkpoints, last path segments only. `path`: a folder, or a file. No faults. */
export async function namesInState(path: string): Promise<string[]> {
  const stats = await stat(path).catch(() => null);
  if (stats === null) return [];
  const names = stats.isDirectory() ? await namesOfTrainer(path) : await namesOfLightning(path, stats.size);
  return [...new Set(names)].filter((name) => name !== basename(path)).slice(0, MOST_NAMES);
}

const MOST_NAMES = 16;

async function namesOfTrainer(folder: string): Promise<string[]> {
  const best = trainerState.safeParse(await readTrainerState(folder)).data?.best_model_checkpoint;
  return best == null ? [] : [lastSegment(best)];
}

async function namesOfLightning(path: string, sizeBytes: number): Promise<string[]> {
  if (!path.endsWith(".ckpt")) return [];
  const value = await readPickleOf(path, sizeBytes);
  const callbacks = pairsOf(value ?? undefined)?.find(([name]) => name === "callbacks")?.[1];
  return callbacks === undefined
    ? []
    : textsIn(callbacks)
        .filter((text) => text.endsWith(".ckpt"))
        .map(lastSegment);
}

const lastSegment = (path: string): string => basename(path.replaceAll("\\", "/"));

const MOST_VALUES = 10_000;

/** Returns all strings in a value, names of entries included. */
function textsIn(value: PickleValue): string[] {
  const texts: string[] = [];
  const rest: PickleValue[] = [value];
  for (let looked = 0; rest.length > 0 && looked < MOST_VALUES; looked++) {
    const next = rest.pop() ?? null;
    if (typeof next === "string") texts.push(next);
    if (typeof next !== "object" || next === null) continue;
    if ("items" in next) rest.push(...next.items);
    if ("pairs" in next) rest.push(...next.pairs.flat());
    if (isCall(next)) rest.push(next.args, next.state);
  }
  return texts;
}
