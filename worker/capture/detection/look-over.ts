import { join } from "node:path";
import { finalModelBelow, findFinalModel } from "./final-model.ts";
import type { Candidate } from "./find.ts";
import { findUntaken, type Untaken } from "./untaken.ts";
import { PRETRAINED_WEIGHTS } from "#protocol/recognition/checkpoint-evidence.ts";
import { newestTime } from "./inside/inside-of.ts";
import type { Finder, Watched } from "./walk-watched.ts";

/**
 * Finds what an agent takes of a watched folder, and what it leaves. The agent, the end of `tidemark run`, and the dry look
 * (`tidemark doctor --watch`) ask the same functions, so that they say the same.
 */
export interface FinalModelOptions {
  /** When the newest checkpoint was written, epoch ms; null: there is none. */
  newestCheckpointMs: number | null;
  /** Epoch ms. */
  now: number;
  /** How long weights below the folder must have been unchanged. */
  quietMs: number;
  /** When the run began to be watched, epoch ms. Older weights in a folder that nobody named are no result of the run. */
  watchedSince: number;
}

/** Returns the final model in the folder, or below it; null: there is none. Faults: READ_FAILED. */
export async function findFinal(
  { watch: { folder, isDefault }, finder }: { watch: Watched; finder: Finder },
  options: FinalModelOptions,
): Promise<Omit<Candidate, "step"> | null> {
  const found = await findFinalModel(folder);
  const weights = (found?.names ?? []).filter((name) => PRETRAINED_WEIGHTS.test(name));
  const isOlder = async () => (await newestTime(folder, weights)) < options.watchedSince;
  const own = isDefault === true && found !== null && (await isOlder()) ? null : found;
  // Weights from which the program resumes are a checkpoint.
  const isState = own?.names?.some((name) => finder.holds(join(folder, name))) === true;
  return (isState ? null : own) ?? finalModelBelow(finder.finals(), options);
}

/** Returns the files that belong to no candidate. `since`: only those written from then on, epoch ms. Faults: READ_FAILED. */
export async function findLeft(
  { watch, finder }: { watch: Watched; finder: Finder },
  about: { final: Omit<Candidate, "step"> | null; since?: number; isOver?: boolean },
): Promise<Untaken> {
  const { final, since = 0, isOver = since > 0 } = about;
  const taken = [...(await finder.find()), ...(final === null ? [] : [final])];
  return findUntaken(watch, taken, { since, isOver });
}
