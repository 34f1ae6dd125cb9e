import { readFile, stat } from "node:fs/promises";
import { join } from "node:path";
import * as z from "zod";
import { step } from "#protocol/base/names.ts";
import { parseJson } from "#storage/inspect/parse-json.ts";
import { MOST_STATE_BYTES, TRAINER_STATE } from "./describe.ts";

const state = z.object({ global_step: step });

/**
 * Returns the state that a Trainer wrote into a checkpoint, not validated; null when none can be read. An untrusted file. No
 * faults.
 */
export async function readTrainerState(folder: string): Promise<unknown> {
  const path = join(folder, TRAINER_STATE);
  try {
    const stats = await stat(path);
    if (!stats.isFile() || stats.size > MOST_STATE_BYTES) return null;
    return parseJson(await readFile(path));
  } catch {
    return null;
  }
}

/** Returns the step that a Trainer wrote into its checkpoint; null without a plausible one. No faults. */
export const readGlobalStep = async (folder: string): Promise<number | null> =>
  state.safeParse(await readTrainerState(folder)).data?.global_step ?? null;
