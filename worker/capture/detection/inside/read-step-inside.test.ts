import { execFileSync } from "node:child_process";
import { readFileSync, statSync } from "node:fs";
import { mkdtemp, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { deflateSync, gunzipSync } from "node:zlib";
import { afterEach, beforeEach, expect, test } from "vitest";
import { torchFile, type SavedState } from "#storage/testing/torch-file.ts";
import { zipOf } from "#storage/testing/zip-of.ts";
import { FINAL } from "../file-sets.ts";
import { readStepInside } from "./read-step-inside.ts";

let folder: string;
beforeEach(async () => {
  folder = await mkdtemp(join(tmpdir(), "tidemark-inside-"));
});
afterEach(() => rm(folder, { recursive: true, force: true }));

async function stepIn(bytes: Buffer, name = "ckpt.pt"): Promise<number | null> {
  const path = join(folder, name);
  await writeFile(path, bytes);
  return readStepInside(path, bytes.length);
}

test.each<[SavedState, number | null]>([
  [{ model: null, global_step: 1200 }, 1200],
  [{ iter_num: 250, best_val_loss: null }, 250],
  [{ epoch: 7 }, 7],
  [{ epoch: 7, global_step: 1200 }, 1200],
  [{ epoch: -1, optimizer: 5 }, null],
  [{ epoch: -1, optimizer: null }, FINAL],
  [{ model: null }, null],
])("a saved state %j holds the step %j", async (state, step) => {
  expect(await stepIn(torchFile(state))).toBe(step);
});

test("a state that would call something is read, and nothing is called", async () => {
  const calls = "\x80\x02}(X\x04\0\0\0stepK\x05X\x01\0\0\0acposix\nsystem\n(X\x05\0\0\0touchtRu.";
  expect(await stepIn(zipOf("archive/data.pkl", Buffer.from(calls, "latin1")))).toBe(5);
  expect(await stepIn(Buffer.from("no zip"))).toBeNull();
});

/** A pickle of a dictionary with these numbers, as protocol 2 writes it. */
const pickleOf = (state: SavedState): Buffer => {
  const bytes = torchFile(state);
  const from = bytes.indexOf("\x80\x02}(", 0, "latin1");
  return bytes.subarray(from, bytes.indexOf("u.", from) + 2);
};
const LEGACY_START = Buffer.from("80028a0a6cfc9c46f9206aa850192e80024de9032e80027d2e", "hex");

test("a file of torch.save before version 1.6 and a plain pickle hold their step", async () => {
  const saved = pickleOf({ model: null, iteration: 700 });
  expect(await stepIn(Buffer.concat([LEGACY_START, saved, Buffer.from("80025d2e", "hex")]))).toBe(700);
  expect(await stepIn(saved, "state.pkl")).toBe(700);
  expect(await stepIn(deflateSync(saved), "state.joblib")).toBe(700);
  expect(await stepIn(Buffer.concat([LEGACY_START, saved.subarray(0, 8)]))).toBeNull();
  expect(await stepIn(Buffer.from("}(X\x04\0\0\0stepK\x05u.", "latin1"), "text.pkl")).toBeNull();
});

test("a step in a dictionary beside the weights counts where there is none above it", async () => {
  const inner = "\x80\x02}(X\x05\0\0\0modelNX\x04\0\0\0meta}(X\x05\0\0\0epochK\x02X\x04\0\0\0iterK\x64uu.";
  expect(await stepIn(zipOf("archive/data.pkl", Buffer.from(inner, "latin1")))).toBe(100);
});

function safetensors(metadata: Record<string, string>): Buffer {
  const tensor = { dtype: "U8", shape: [1], data_offsets: [0, 1] };
  const header = Buffer.from(JSON.stringify({ __metadata__: metadata, weight: tensor }));
  const length = Buffer.alloc(8);
  length.writeBigUInt64LE(BigInt(header.length));
  return Buffer.concat([length, header, Buffer.alloc(1)]);
}

test.each([
  [{ global_step: "1200", epoch: "3" }, 1200],
  [{ ss_steps: "400", ss_epoch: "2" }, 400],
  [{ step: "many" }, null],
  [{ format: "pt" }, null],
])("the metadata %j of safetensors hold the step %j", async (metadata, step) => {
  expect(await stepIn(safetensors(metadata), "last.safetensors")).toBe(step);
});

test("a damaged header, and one that is longer than what is read, hold none", async () => {
  const cut = safetensors({ step: "5" }).subarray(0, 30);
  const long = Buffer.alloc(16);
  long.writeBigUInt64LE(1n << 40n);
  for (const bytes of [cut, long, Buffer.alloc(0)]) expect(await stepIn(bytes, "last.safetensors")).toBeNull();
});

/** An `.npy` file of one number. */
function scalar(descr: string, value: number): Buffer {
  const header = `{'descr': '${descr}', 'fortran_order': False, 'shape': (), }`.padEnd(117) + "\n";
  const content = Buffer.alloc(8);
  content.writeBigInt64LE(BigInt(value));
  const start = Buffer.from("\x93NUMPY\x01\x00\x76\x00", "latin1");
  return Buffer.concat([start, Buffer.from(header), content.subarray(0, Number(descr.at(-1)))]);
}

test.each(["<i8", "<i4", "<u8"])("an array of one number (%s) in an .npz holds the step", async (descr) => {
  expect(await stepIn(zipOf("global_step.npy", scalar(descr, 321)), "state.npz")).toBe(321);
  expect(await stepIn(zipOf("weights.npy", scalar(descr, 321)), "state.npz")).toBeNull();
});

test("GGUF names its step in its pairs", async () => {
  const u64 = (value: number) => {
    const bytes = Buffer.alloc(8);
    bytes.writeBigUInt64LE(BigInt(value));
    return bytes;
  };
  const u32 = (value: number) => u64(value).subarray(0, 4);
  const key = Buffer.from("training.iteration_count");
  const head = [Buffer.from("GGUF"), u32(3), u64(0), u64(1)];
  const bytes = Buffer.concat([...head, u64(key.length), key, u32(10), u64(90)]);
  expect(await stepIn(bytes, "last.gguf")).toBe(90);
  expect(await stepIn(Buffer.from("no gguf"), "last.gguf")).toBeNull();
});

test("a model of XGBoost was boosted as many rounds as it has ends, as JSON and as its own UBJSON", async () => {
  const booster = '"gradient_booster":{"model":{"gbtree_model_param":{"num_trees":"6"},"iteration_indptr":[0,2,4,6]}}';
  expect(await stepIn(Buffer.from(`{"learner":{"attributes":{},${booster}}}`), "model.json")).toBe(3);
  expect(await stepIn(Buffer.from(`{"other":{${booster}}}`), "model.json")).toBeNull();
  const archive = join(import.meta.dirname, "../../../../e2e/layouts/xgboost.tar.gz");
  execFileSync("tar", ["xzf", archive, "-C", folder]);
  const path = join(folder, "model_10.ubj");
  expect(await readStepInside(path, statSync(path).size)).toBe(11);
});

test("Keras counts the steps of its optimizer, in an archive, in weights with their optimizer, and in its older file", async () => {
  const layouts = join(import.meta.dirname, "../../../../e2e/layouts");
  for (const name of ["keras-checkpoint", "keras-weights"])
    execFileSync("tar", ["xzf", join(layouts, `${name}.tar.gz`), "-C", folder]);
  const read = (name: string) => readStepInside(join(folder, name), statSync(join(folder, name)).size);
  expect(await read("model-03.keras")).toBe(12);
  expect(await read("epoch_002.weights.h5")).toBe(8);
  const older = gunzipSync(readFileSync(join(layouts, "keras-older.h5.gz")));
  expect(await stepIn(older, "model.h5")).toBe(12);
  expect(await stepIn(older.subarray(0, 9_000), "model.h5")).toBeNull();
  expect(await stepIn(zipOf("model.weights.h5", Buffer.from("no HDF5")), "model.keras")).toBeNull();
});
