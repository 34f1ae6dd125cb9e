import type { Stats } from "node:fs";
import { stat } from "node:fs/promises";
import { basename, join } from "node:path";
import { isWeightsName } from "#protocol/recognition/checkpoint-evidence.ts";
import { isModelName, type FileName } from "#protocol/recognition/checkpoint-file-names.ts";
import type { Candidate } from "../find.ts";
import { readGlobalStep } from "../read-global-step.ts";
import { isModelContent } from "./is-model-content.ts";
import { readStepInside } from "./read-step-inside.ts";

/** Facts from inside a file; `key` is its size and time. */
export interface Inside {
  key: string;
  step: number | null;
  isModel: boolean;
}

/** Facts from inside files, so that each version of a file is read once; `seen`: files that still exist. */
export interface Insides {
  insides: Map<string, Inside>;
  seen: Set<string>;
}

/** The optimizer of Keras counts anew when a program loads the weights alone, and its epochs go on. */
const COUNTS_ANEW = /\.(keras|h5|hdf5)$/i;

/** Returns what a name leaves open: step, and whether the file is a model. */
export async function insideOf(
  known: Insides,
  { path, stats, read }: { path: string; stats: Stats; read: FileName },
): Promise<Pick<Inside, "step" | "isModel">> {
  const isOpen = read.from === null || (read.from === "epoch" && !COUNTS_ANEW.test(path));
  // When a saver's word or an ending decides, the file is not read.
  const isShown = isModelName(path) && read.from !== null && (read.isSaverName || isWeightsName(path));
  return readOnce(known, { path, stats }, async () => ({
    step: isOpen ? await readStepInside(path, stats.size) : null,
    isModel: !isShown && (await isModelContent(path)),
  }));
}

async function readOnce(
  { insides, seen }: Insides,
  { path, stats }: { path: string; stats: Stats },
  read: () => Promise<Omit<Inside, "key">>,
): Promise<Inside> {
  const key = `${stats.size} ${stats.mtimeMs}`;
  const known = insides.get(path);
  seen.add(path);
  if (known?.key === key) return known;
  const inside = { key, ...(await read()) };
  insides.set(path, inside);
  return inside;
}

/** Files of a saver with a counter: of the program itself, of DeepSpeed, and of accelerate. The first that holds one counts. */
const WITH_COUNTER = [
  /^custom_checkpoint_\d+\.pkl$/,
  /^mp_rank_00_model_states\.pt$/,
  /^model_optim_rng\.pt$/,
  /^random_states_0\.pkl$/,
  /^scheduler(_\d+)?\.(bin|pt)$/,
] as const;

/** Returns the step of a folder that is overwritten in place: of a Trainer, of a file in it, or else its time of writing. */
export async function stepInPlace(
  known: Insides,
  path: string,
  names: { all: readonly string[]; ofSaver: readonly string[] },
): Promise<Pick<Candidate, "step" | "stepFrom">> {
  const step = (await readGlobalStep(path)) ?? (await stepOfFiles(known, path, names.all));
  if (step !== null) return { step, stepFrom: "inside" };
  return { step: Math.floor((await newestTime(path, names.ofSaver)) / 1000), stepFrom: "time" };
}

async function stepOfFiles(known: Insides, folder: string, names: readonly string[]): Promise<number | null> {
  const wanted = WITH_COUNTER.flatMap((pattern) => names.filter((name) => pattern.test(basename(name))).toSorted());
  for (const name of wanted) {
    const path = join(folder, name);
    const stats = await stat(path).catch(() => null);
    if (stats === null || !stats.isFile()) continue;
    const read = async () => ({ step: await readStepInside(path, stats.size), isModel: false });
    const { step } = await readOnce(known, { path, stats }, read);
    // accelerate counts only with gradient accumulation, and writes 0 otherwise.
    if (step !== null && step > 0) return step;
  }
  return null;
}

const MOST_ASKED = 64;

/** Returns when the newest of these files was written, epoch ms; 0: there is none. */
export async function newestTime(folder: string, names: readonly string[]): Promise<number> {
  let newestMs = 0;
  for (const name of names.slice(0, MOST_ASKED)) {
    const stats = await stat(join(folder, name)).catch(() => null);
    newestMs = Math.max(newestMs, stats?.mtimeMs ?? 0);
  }
  return newestMs;
}
