import { createHash } from "node:crypto";
import { appendFileSync, closeSync, mkdirSync, openSync, readdirSync, readFileSync, rmSync, writeSync } from "node:fs";
import { join } from "node:path";
import { setTimeout as pause } from "node:timers/promises";
import { randomFrom } from "#protocol/base/random-from.ts";

/**
 * A training program for proofs: `node train-linear-model.ts FOLDER LOG LIFE SEED`. It fits weights to a target by stochastic
 * gradient descent with momentum. Its state after N steps depends on SEED and N alone, however often it was interrupted, so
 * two checkpoints of one step have the same bytes. It saves every fifth step directly into its folder, file by file and in
 * chunks, as the Trainer of transformers does. Before it writes a checkpoint it appends one line with the SHA-256 of every
 * file to LOG. The exit code is 42 when the checkpoint to resume from is incomplete or has another loss than its own state
 * says, and 43 when the folder has a newer one than the worker named.
 */
const [folder = "", log = "", life = "0", seed = "1"] = process.argv.slice(2);
const TORN = 42;
const MISLED = 43;
const WEIGHTS = 100_000;
const SAVE_EVERY = 5;
const STEP_MS = 60;
const KEPT = 3;

interface State {
  step: number;
  weights: Float32Array;
  momentum: Float32Array;
}

const targetOf = (index: number): number => Math.sin(index * 0.37);

function lossOf(weights: Float32Array): number {
  let sum = 0;
  for (const [index, weight] of weights.entries()) sum += (weight - targetOf(index)) ** 2;
  return sum / weights.length;
}

/** Changes the state as one step of training does. The noise of a batch depends on the seed and the step. */
function train(state: State): void {
  state.step += 1;
  const noise = randomFrom(Number(seed) * 1_000_003 + state.step);
  const { weights, momentum } = state;
  for (const [index, weight] of weights.entries()) {
    const gradient = weight - targetOf(index) + 0.2 * (noise() - 0.5);
    const speed = 0.9 * (momentum[index] ?? 0) + gradient;
    momentum[index] = speed;
    weights[index] = weight - 0.01 * speed;
  }
}

/** Returns a safetensors file of one tensor. https://github.com/huggingface/safetensors#format */
function encodeTensor(name: string, values: Float32Array, step: number): Buffer {
  const data = Buffer.from(values.buffer, values.byteOffset, values.byteLength);
  const about = { dtype: "F32", shape: [values.length], data_offsets: [0, data.length] };
  const json = JSON.stringify({ __metadata__: { format: "pt", step: String(step), seed }, [name]: about });
  const text = Buffer.from(json.padEnd(Math.ceil(json.length / 8) * 8, " "));
  const length = Buffer.alloc(8);
  length.writeBigUInt64LE(BigInt(text.length));
  return Buffer.concat([length, text, data]);
}

/** Reads the tensor of a file that `encodeTensor` made for this step. @throws Error when it is another one or is truncated */
function decodeTensor(path: string, step: number): Float32Array {
  const bytes = readFileSync(path);
  const start = 8 + Number(bytes.readBigUInt64LE(0));
  const header = JSON.parse(bytes.subarray(8, start).toString()) as { __metadata__: { step: string; seed: string } };
  if (header["__metadata__"].step !== String(step)) throw new Error(`${path} is of another step`);
  if (bytes.length !== start + 4 * WEIGHTS) throw new Error(`${path} is truncated`);
  return new Float32Array(bytes.buffer.slice(bytes.byteOffset + start, bytes.byteOffset + bytes.length));
}

/** Returns the files of a checkpoint in the order in which they are written; the file that completes it is the last. */
function filesOf({ step, weights, momentum }: State): [string, Buffer][] {
  const state = { global_step: step, log_history: [{ step, loss: lossOf(weights) }] };
  return [
    ["config.json", Buffer.from(JSON.stringify({ architectures: ["LinearModel"], step, seed }))],
    ["model.safetensors", encodeTensor("weights", weights, step)],
    ["optimizer.safetensors", encodeTensor("momentum", momentum, step)],
    ["trainer_state.json", Buffer.from(JSON.stringify(state))],
  ];
}

async function writeInChunks(path: string, bytes: Buffer): Promise<void> {
  const file = openSync(path, "w");
  const third = Math.ceil(bytes.length / 3);
  for (let at = 0; at < bytes.length; at += third) {
    writeSync(file, bytes, at, Math.min(third, bytes.length - at));
    await pause(4);
  }
  closeSync(file);
}

const savedSteps = (): number[] =>
  readdirSync(folder)
    .flatMap((name) => /^checkpoint-(\d+)$/.exec(name)?.[1] ?? [])
    .map(Number)
    .toSorted((a, b) => b - a);

async function save(state: State): Promise<void> {
  const path = join(folder, `checkpoint-${state.step}`);
  const files = filesOf(state);
  const sums = files.map(([name, bytes]) => [name, createHash("sha256").update(bytes).digest("hex")]);
  const line = { step: state.step, life: Number(life), loss: lossOf(state.weights), files: Object.fromEntries(sums) };
  appendFileSync(log, `${JSON.stringify(line)}\n`);
  mkdirSync(path, { recursive: true });
  for (const [name, bytes] of files) await writeInChunks(join(path, name), bytes);
  for (const step of savedSteps().slice(KEPT)) rmSync(join(folder, `checkpoint-${step}`), { recursive: true });
}

/** Reads the checkpoint that the worker named. Ends the program when it is not a whole one. */
function resume(): State {
  const path = process.env["TIDEMARK_RESUME_PATH"] ?? "";
  const step = Number(process.env["TIDEMARK_RESUME_STEP"] ?? "0");
  if ((savedSteps()[0] ?? 0) > step) process.exit(MISLED);
  if (path === "") return { step: 0, weights: new Float32Array(WEIGHTS), momentum: new Float32Array(WEIGHTS) };
  try {
    const weights = decodeTensor(join(path, "model.safetensors"), step);
    const momentum = decodeTensor(join(path, "optimizer.safetensors"), step);
    const text = readFileSync(join(path, "trainer_state.json"), "utf8");
    const { global_step: at, log_history: history } = JSON.parse(text) as {
      global_step: number;
      log_history: { loss: number }[];
    };
    if (at !== step || history[0]?.loss !== lossOf(weights)) process.exit(TORN);
    return { step, weights, momentum };
  } catch (error) {
    console.log(String(error));
    process.exit(TORN);
  }
}

mkdirSync(folder, { recursive: true });
const state = resume();
console.log(`life ${life} starts at ${state.step} with loss ${lossOf(state.weights)} as process ${process.pid}`);
for (;;) {
  await pause(STEP_MS);
  train(state);
  if (state.step % SAVE_EVERY === 0) await save(state);
}
