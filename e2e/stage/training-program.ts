import { existsSync, mkdirSync, readdirSync, readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { setTimeout as pause } from "node:timers/promises";
import { layersOf, writeSafetensors } from "./write-checkpoint.ts";

/**
 * A training program for tests: `node training-program.ts FOLDER STEPS [EXIT]`. Like the Trainer of transformers it resumes
 * from the checkpoint with the highest step, and writes the files of a checkpoint directly into its folder. It exits with 42
 * when the found checkpoint is torn, and with 43 when `tidemark run` named another one. With WITH_LOSS in its environment
 * each checkpoint records a loss.
 */
const [folder = "", steps = "0", exit = "0"] = process.argv.slice(2);
const TORN = 42;
const MISLED = 43;
const BYTES = 2 * 1024 * 1024;

function highest(): { step: number; path: string } | null {
  const found = readdirSync(folder)
    .map((name) => ({ step: Number(/^checkpoint-(\d+)$/.exec(name)?.[1] ?? -1), path: join(folder, name) }))
    .filter(({ step }) => step >= 0)
    .toSorted((a, b) => b.step - a.step);
  return found[0] ?? null;
}

/** Returns the step recorded in a checkpoint; NaN when a file is missing or truncated. */
function readStep(path: string): number {
  try {
    for (const name of ["model.safetensors", "optimizer.safetensors"]) {
      const bytes = readFileSync(join(path, name));
      const header = Number(bytes.readBigUInt64LE(0));
      const tensors = JSON.parse(bytes.subarray(8, 8 + header).toString()) as Record<
        string,
        { data_offsets?: number[] }
      >;
      const end = Math.max(...Object.values(tensors).map(({ data_offsets: offsets }) => offsets?.[1] ?? 0));
      if (8 + header + end !== bytes.length) return Number.NaN;
    }
    const state = JSON.parse(readFileSync(join(path, "trainer_state.json"), "utf8")) as { global_step: number };
    return state.global_step;
  } catch {
    return Number.NaN;
  }
}

async function save(step: number): Promise<void> {
  const path = join(folder, `checkpoint-${step}`);
  mkdirSync(path, { recursive: true });
  writeFileSync(join(path, "training_args.bin"), "arguments");
  for (const name of ["model.safetensors", "optimizer.safetensors"]) {
    writeSafetensors(join(path, name), layersOf(BYTES));
    await pause(20);
  }
  const history = process.env["WITH_LOSS"] === undefined ? [] : [{ step, loss: 1 / step }];
  writeFileSync(join(path, "trainer_state.json"), JSON.stringify({ global_step: step, log_history: history }));
  console.log(`saved ${step}`);
}

mkdirSync(folder, { recursive: true });
const found = highest();
const told = { path: process.env["TIDEMARK_RESUME_PATH"] ?? "", step: process.env["TIDEMARK_RESUME_STEP"] ?? "" };
if (found !== null && readStep(found.path) !== found.step) process.exit(TORN);
if ((found === null ? "" : found.path) !== told.path) process.exit(MISLED);
if (process.env["TIDEMARK_TOKEN"] !== undefined) process.exit(MISLED);
console.log(`starts at ${found?.step ?? 0}`);

const asked = new AbortController();
process.on("SIGTERM", () => asked.abort());
let step = found?.step ?? 0;
for (let count = 0; count < Number(steps) && !asked.signal.aborted; count++) {
  await pause(60);
  step += 10;
  await save(step);
  // A test controls the next step with the file `hold`.
  while (existsSync(join(folder, "hold")) && !asked.signal.aborted) await pause(10);
}
if (asked.signal.aborted) await save(step + 1);
process.exit(Number(exit));
