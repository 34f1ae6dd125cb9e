import { spawn } from "node:child_process";
import { createInterface } from "node:readline";

/** How one training went, seconds. */
export interface Trained {
  /** What the program says that it trains on; null when it says nothing. */
  device: string | null;
  steps: number[];
  /** How long training stood still at each checkpoint for more than the writing of its files. */
  stalls: number[];
}

export interface Training {
  /** A program that speaks as `train.c` does. */
  command: readonly string[];
  steps: number;
  signal: AbortSignal;
  /** Writes the files of a checkpoint, where the program has not. */
  write?: (step: number) => Promise<void>;
  /** What happens with them before training may go on. */
  save: (step: number) => Promise<void>;
}

const TOLD_OF_IT = 2_000;

/** Trains. @throws Error when the program ends otherwise than it should */
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
