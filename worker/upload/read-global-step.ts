import { readFile, stat } from "node:fs/promises";
import { join } from "node:path";
import * as z from "zod";
import { step } from "#protocol/names.ts";
import { MOST_STATE_BYTES, TRAINER_STATE } from "./describe.ts";

const state = z.object({ global_step: step });

/** The step that a Trainer wrote into its checkpoint; null without one that can be believed. A stranger's file. No faults. */
export async function readGlobalStep(folder: string): Promise<number | null> {
  const path = join(folder, TRAINER_STATE);
  try {
    const stats = await stat(path);
    if (!stats.isFile() || stats.size > MOST_STATE_BYTES) return null;
    return state.safeParse(JSON.parse(await readFile(path, "utf8"))).data?.global_step ?? null;
  } catch {
    return null;
  }
}
