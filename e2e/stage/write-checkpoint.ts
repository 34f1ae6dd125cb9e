import { createHash, randomFillSync } from "node:crypto";
import {
  mkdirSync,
  openSync,
  closeSync,
  fsyncSync,
  readdirSync,
  readFileSync,
  renameSync,
  statSync,
  writeFileSync,
  writeSync,
} from "node:fs";
import { join, relative } from "node:path";

/** Writes checkpoints for tests and the demo in the layout of Hugging Face's Trainer. */

export interface Tensor {
  name: string;
  shape: number[];
}

const FLOAT_BYTES = 4;

/**
 * Writes a safetensors file of random float32 tensors: 8 bytes of little-endian header length, JSON header padded with
 * spaces to 8 bytes, then the data. https://github.com/huggingface/safetensors#format
 */
export function writeSafetensors(path: string, tensors: readonly Tensor[]): void {
  let offset = 0;
  const header: Record<string, unknown> = { __metadata__: { format: "pt" } };
  for (const tensor of tensors) {
    const size = tensor.shape.reduce((product, length) => product * length, 1) * FLOAT_BYTES;
    header[tensor.name] = { dtype: "F32", shape: tensor.shape, data_offsets: [offset, offset + size] };
    offset += size;
  }
  const json = JSON.stringify(header);
  const text = Buffer.from(json.padEnd(Math.ceil(json.length / 8) * 8, " "));
  const length = Buffer.alloc(8);
  length.writeBigUInt64LE(BigInt(text.length));
  const file = openSync(path, "w");
  try {
    writeSync(file, length);
    writeSync(file, text);
    const block = Buffer.alloc(1024 * 1024);
    for (let written = 0; written < offset; written += block.length) {
      randomFillSync(block);
      writeSync(file, block, 0, Math.min(block.length, offset - written));
    }
    fsyncSync(file);
  } finally {
    closeSync(file);
  }
}

/** Returns layers whose weights add up to about `sizeBytes`. */
export function layersOf(sizeBytes: number, width = 512): Tensor[] {
  const perLayer = width * width * FLOAT_BYTES;
  const count = Math.max(1, Math.round(sizeBytes / perLayer));
  return Array.from({ length: count }, (_, index) => ({ name: `model.layers.${index}.weight`, shape: [width, width] }));
}

export interface CheckpointOptions {
  folder: string;
  step: number;
  modelBytes: number;
  optimizerBytes: number;
  loss: number;
}

/** Writes `checkpoint-<step>` under `folder` into a temporary folder and renames it into place. Returns its path. */
export function writeCheckpoint(options: CheckpointOptions): string {
  const name = `checkpoint-${options.step}`;
  const temporary = join(options.folder, `.${name}.tmp`);
  mkdirSync(temporary, { recursive: true });
  writeSafetensors(join(temporary, "model.safetensors"), layersOf(options.modelBytes));
  if (options.optimizerBytes > 0)
    writeSafetensors(join(temporary, "optimizer.safetensors"), layersOf(options.optimizerBytes));
  writeFileSync(
    join(temporary, "config.json"),
    JSON.stringify({ architectures: ["DemoForCausalLM"], hidden_size: 512 }, null, 2),
  );
  const state = { global_step: options.step, log_history: [{ step: options.step, loss: options.loss }] };
  writeFileSync(join(temporary, "trainer_state.json"), JSON.stringify(state, null, 2));
  const place = join(options.folder, name);
  renameSync(temporary, place);
  return place;
}

/** Returns the SHA-256 of every file under a folder, by relative path. Equal results mean equal folders. */
export function hashFolder(folder: string): Record<string, string> {
  const hashes: Record<string, string> = {};
  for (const entry of readdirSync(folder, { recursive: true, encoding: "utf8" }).toSorted()) {
    const path = join(folder, entry);
    if (statSync(path).isFile()) {
      hashes[relative(folder, path)] = createHash("sha256").update(readFileSync(path)).digest("hex");
    }
  }
  return hashes;
}
