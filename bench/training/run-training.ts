import { spawn } from "node:child_process";
import { createInterface } from "node:readline";

/** Timings of one training, seconds. */
export interface Trained {
  /** Device that the program reports; null when it reports none. */
  device: string | null;
  steps: number[];
  /** Pause of the training at each checkpoint, besides the writing of its files. */
  stalls: number[];
}

export interface Training {
  /** A program with the same protocol as `train.c`. */
  command: readonly string[];
  steps: number;
  signal: AbortSignal;
  /** Writes the files of a checkpoint, unless the program has. */
  write?: (step: number) => Promise<void>;
  /** Handles the files of a checkpoint before training may go on. */
  save: (step: number) => Promise<void>;
}

const TOLD_OF_IT = 2_000;

/** Runs a training program. @throws Error when it fails, or reports another number of steps */
export async function runTraining(training: Training): Promise<Trained> {
  const { command, steps, signal, write, save } = training;
  const [program = "", ...args] = command;
  const child = spawn(program, args, { stdio: ["pipe", "pipe", "pipe"], signal });
  const ended = new Promise<number | null>((resolve, reject) => {
    child.once("error", reject);
    child.once("close", resolve);
  });
  let complaint = "";
  child.stderr.on("data", (text) => {
    complaint = `${complaint}${String(text)}`.slice(-TOLD_OF_IT);
  });
  const trained: Trained = { device: null, steps: [], stalls: [] };
  for await (const line of createInterface({ input: child.stdout })) {
    const [word, ...rest] = line.split(" ");
    const value = rest.join(" ");
    if (word === "device") trained.device = value;
    if (word === "step") trained.steps.push(Number(value));
    if (word !== "save") continue;
    await write?.(Number(value));
    const startedAt = performance.now();
    await save(Number(value));
    trained.stalls.push((performance.now() - startedAt) / 1000);
    child.stdin.write("go\n");
  }
  const code = await ended;
  if (code !== 0 || trained.steps.length !== steps) {
    throw new Error(`the training program ended with ${code}: ${complaint.trim()}`);
  }
  return trained;
}
