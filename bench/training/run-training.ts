import { spawn } from "node:child_process";
import { createInterface } from "node:readline";

/** How one training went, seconds. */
export interface Trained {
  steps: number[];
  /** How long training stood still at each checkpoint for more than the writing of its files. */
  stalls: number[];
}

export interface Training {
  /** The compiled `train.c`. */
  program: string;
  core: number;
  steps: number;
  saveEvery: number;
  /** Multiplications per step. */
  work: number;
  signal: AbortSignal;
  /** Writes the files of a checkpoint. */
  write: (step: number) => Promise<void>;
  /** What happens with them before training may go on. */
  save: (step: number) => Promise<void>;
}

/** Trains on a core of its own. @throws Error when the program ends otherwise than it should */
export async function runTraining(training: Training): Promise<Trained> {
  const { program, core, steps, saveEvery, work, signal, write, save } = training;
  const args = ["-c", String(core), program, String(steps), String(saveEvery), String(work)];
  const child = spawn("taskset", args, { stdio: ["pipe", "pipe", "ignore"], signal });
  const ended = new Promise<number | null>((resolve, reject) => {
    child.once("error", reject);
    child.once("close", resolve);
  });
  const trained: Trained = { steps: [], stalls: [] };
  for await (const line of createInterface({ input: child.stdout })) {
    const [word, value = ""] = line.split(" ");
    if (word === "step") trained.steps.push(Number(value));
    if (word !== "save") continue;
    await write(Number(value));
    const startedAt = performance.now();
    await save(Number(value));
    trained.stalls.push((performance.now() - startedAt) / 1000);
    child.stdin.write("go\n");
  }
  const code = await ended;
  if (code !== 0 || trained.steps.length !== steps) throw new Error(`the training program ended with ${code}`);
  return trained;
}
