import { mkdtemp, readdir, rm, stat } from "node:fs/promises";
import { availableParallelism, tmpdir } from "node:os";
import { join } from "node:path";
import { compileC } from "#e2e/link/compile-c.ts";
import { writeCheckpoint } from "#e2e/stage/write-checkpoint.ts";
import { BenchError } from "../bench-error.ts";
import { percentile } from "../fleet/percentile.ts";
import { runTraining } from "./run-training.ts";

/** A training program and its processors, which it shares with the uploading program; hub and store have others. */
export interface Trainer {
  /** The GPU; null where a CPU trains. */
  device: string | null;
  /** Returns the command of a turn. */
  command(turn: { folder: string; steps: number }): readonly string[];
  /** Writes the files of a checkpoint into `folder`, unless the program does that itself. */
  write(folder: string, step: number): Promise<void>;
  saveEvery: number;
  /** Median duration of a step. */
  stepSeconds: number;
  checkpointBytes: number;
  uplinkBytesPerSecond: number;
  /** Prefix of the uploading program's command. */
  beside: readonly string[];
  /** Prefix of the commands of hub and store. */
  elsewhere: readonly string[];
}

const SAVE_EVERY_SECONDS = 8;
const nothing = async (): Promise<void> => undefined;
const onCores = (from: number, to: number): readonly string[] => ["taskset", "-c", `${from}-${to}`];

const CPU_STEP_SECONDS = 0.02;
const CPU_CHECKPOINT_BYTES = 150_000_000;
const CALIBRATION = { steps: 50, work: 20 };

/**
 * Trains with one thread on a core of its own. Hub and store have another core; the uploading program runs where the system
 * puts it.
 */
export async function cpuTrainer(signal: AbortSignal): Promise<Trainer> {
  const program = await compileC("train", join(import.meta.dirname, "train.c"));
  const saveEvery = Math.round(SAVE_EVERY_SECONDS / CPU_STEP_SECONDS);
  const commandOf = (steps: number, every: number, work: number): readonly string[] => [
    ...onCores(0, 0),
    program,
    ...[steps, every, work].map(String),
  ];
  // Calibrates how many multiplications make a step on this core.
  const { steps, work: tried } = CALIBRATION;
  const trial = await runTraining({ command: commandOf(steps, steps + 1, tried), steps, signal, save: nothing });
  const work = Math.max(1, Math.round((CPU_STEP_SECONDS * tried) / percentile(trial.steps, 0.5)));
  return {
    device: null,
    command: (turn) => commandOf(turn.steps, saveEvery, work),
    write: async (folder, step) => {
      writeCheckpoint({ folder, step, modelBytes: CPU_CHECKPOINT_BYTES, optimizerBytes: 0, loss: 1 });
    },
    saveEvery,
    stepSeconds: CPU_STEP_SECONDS,
    checkpointBytes: CPU_CHECKPOINT_BYTES,
    uplinkBytesPerSecond: 18_750_000,
    beside: [],
    elsewhere: onCores(1, 1),
  };
}

/** Cores for hub and store; the others are for training and the uploading program. */
const CORES_ELSEWHERE = 4;
const LEAST_CORES = 8;
const WARM_UP = { steps: 120, settledFrom: 40 };

/** Trains a language model on a GPU. @throws BenchError where there is none, or too few cores to separate the programs */
export async function gpuTrainer(signal: AbortSignal): Promise<Trainer> {
  const cores = availableParallelism();
  if (cores < LEAST_CORES) {
    throw new BenchError(`Training on a GPU is measured with ${LEAST_CORES} cores or more, and there are ${cores}.`);
  }
  const beside = onCores(0, cores - CORES_ELSEWHERE - 1);
  const commandOf = (folder: string, steps: number, every: number): readonly string[] => [
    ...beside,
    "python3",
    join(import.meta.dirname, "train_gpu.py"),
    folder,
    String(steps),
    String(every),
  ];
  const folder = await mkdtemp(join(tmpdir(), "tidemark-gpu-"));
  try {
    const { steps, settledFrom } = WARM_UP;
    const trial = await runTraining({ command: commandOf(folder, steps, steps), steps, signal, save: nothing });
    const stepSeconds = percentile(trial.steps.slice(settledFrom), 0.5);
    const saveEvery = Math.round(SAVE_EVERY_SECONDS / stepSeconds);
    return {
      device: trial.device,
      command: (turn) => commandOf(turn.folder, turn.steps, saveEvery),
      write: nothing,
      saveEvery,
      stepSeconds,
      checkpointBytes: await bytesIn(folder),
      uplinkBytesPerSecond: 75_000_000,
      beside,
      elsewhere: onCores(cores - CORES_ELSEWHERE, cores - 1),
    };
  } finally {
    await rm(folder, { recursive: true, force: true });
  }
}

async function bytesIn(folder: string): Promise<number> {
  const entries = await readdir(folder, { recursive: true, withFileTypes: true });
  const files = entries.filter((entry) => entry.isFile());
  const sizes = await Promise.all(files.map(async (file) => (await stat(join(file.parentPath, file.name))).size));
  return sizes.reduce((sum, size) => sum + size, 0);
}
