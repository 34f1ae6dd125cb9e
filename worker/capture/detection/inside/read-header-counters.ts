import { emptyFound } from "#storage/inspect/found.ts";
import { isRecord, parseJson } from "#storage/inspect/parse-json.ts";
import { GGUF_MAGIC, readGguf } from "#storage/inspect/read-gguf.ts";
import { numberAt, openHdf5 } from "#storage/inspect/hdf5/read-scalar.ts";
import { openStoredEntry, readEntryStart, readZipDirectory } from "#storage/inspect/read-zip.ts";
import type { BoundedSource, ByteSource } from "#storage/inspect/source.ts";
import { withFileSource } from "./read-pickle-of.ts";

/** Reads counters of training that a format keeps beside its tensors: in a header, or as named arrays of one number. */

/** Counters by name. */
export type Counters = ReadonlyMap<string, number>;

const NONE: Counters = new Map();
/** A longer header is not read: most of it names tensors. */
const MOST_HEADER_BYTES = 8 * 1024 * 1024;
const MOST_START_BYTES = 256 * 1024;
const MOST_ARRAYS = 32;
const ARRAY_BYTES = 1_024;

/** Returns the counters in a file of a format with a header; none where there are none, or it is damaged. No faults. */
export async function readHeaderCounters(path: string, sizeBytes: number): Promise<Counters> {
  const ending = /\.([a-z0-9]+)$/i.exec(path)?.[1]?.toLowerCase() ?? "";
  const read = READERS[ending];
  return (read === undefined ? null : await withFileSource(path, read, sizeBytes)) ?? NONE;
}

const READERS: Readonly<Record<string, (source: BoundedSource) => Promise<Counters>>> = {
  safetensors: readSafetensors,
  gguf: readGgufPairs,
  npz: readNpz,
  ubj: readXgboost,
  json: readXgboost,
  keras: readKeras,
  h5: readHdf5,
  hdf5: readHdf5,
};

const LENGTH_BYTES = 8;

/** Reads `__metadata__`, whose values are texts. kohya's sd-scripts write `ss_steps` and `ss_epoch`. */
async function readSafetensors(source: BoundedSource): Promise<Counters> {
  const start = Buffer.from(await source.read(0, LENGTH_BYTES));
  const headerBytes = start.readBigUInt64LE(0);
  if (headerBytes > BigInt(MOST_HEADER_BYTES)) return NONE;
  const header = parseJson(await source.read(LENGTH_BYTES, Number(headerBytes)));
  const metadata = isRecord(header) ? header["__metadata__"] : undefined;
  return isRecord(metadata) ? numbersOf(Object.entries(metadata)) : NONE;
}

/** Reads key-value pairs: `training.iteration_count` of llama.cpp, or a counter under its plain name. */
async function readGgufPairs(source: BoundedSource): Promise<Counters> {
  const magic = Buffer.from(await source.read(0, GGUF_MAGIC.length)).toString("latin1");
  if (magic !== GGUF_MAGIC) return NONE;
  const found = emptyFound("gguf");
  await readGguf(source, found);
  return numbersOf(found.metadata.map(({ name, value }) => [name, value] as const));
}

/** Names by which formats call a counter, without what stands before it. */
const PREFIX = /^(ss_|training\.|train\.|general\.|optimizer\.)/;
const OTHER_NAMES: Readonly<Record<string, string>> = { iteration_count: "iteration", epoch_count: "epoch" };

function numbersOf(pairs: readonly (readonly [string, unknown])[]): Counters {
  const numbers = new Map<string, number>();
  for (const [name, value] of pairs) {
    const text = typeof value === "number" ? String(value) : value;
    if (typeof text !== "string" || !/^\d{1,12}$/.test(text)) continue;
    const plain = name.replace(PREFIX, "");
    numbers.set(OTHER_NAMES[plain] ?? plain, Number(text));
  }
  return numbers;
}

/** Reads arrays without dimensions, such as `global_step`. */
async function readNpz(source: BoundedSource): Promise<Counters> {
  const numbers = new Map<string, number>();
  const entries = (await readZipDirectory(source)).filter(({ sizeBytes }) => sizeBytes <= ARRAY_BYTES);
  for (const entry of entries.slice(0, MOST_ARRAYS)) {
    const value = numberOfArray(Buffer.from(await readEntryStart(source, entry, ARRAY_BYTES)));
    if (value !== null) numbers.set(entry.name.replace(/\.npy$/, ""), value);
  }
  return numbers;
}

const NPY_MAGIC = Buffer.from("\x93NUMPY", "latin1");

/** Returns the whole number in an `.npy` file without dimensions; null for any other. */
function numberOfArray(bytes: Buffer): number | null {
  if (bytes.length < 12 || !bytes.subarray(0, NPY_MAGIC.length).equals(NPY_MAGIC)) return null;
  const end = bytes[6] === 1 ? 10 + bytes.readUInt16LE(8) : 12 + bytes.readUInt32LE(8);
  const header = bytes.subarray(0, Math.min(end, bytes.length)).toString("latin1");
  const size = /'descr': '<[iu]([48])'/.exec(header)?.[1];
  if (size === undefined || !/'shape': \(\)/.test(header) || bytes.length < end + Number(size)) return null;
  return size === "8" ? Number(bytes.readBigInt64LE(end)) : bytes.readInt32LE(end);
}

/** The file of weights and optimizer in a `.keras` archive, which Keras stores without packing it. */
const KERAS_WEIGHTS = "model.weights.h5";

async function readKeras(source: BoundedSource): Promise<Counters> {
  const entry = (await readZipDirectory(source)).find(({ name }) => name === KERAS_WEIGHTS);
  const weights = entry === undefined ? null : await openStoredEntry(source, entry);
  return weights === null ? NONE : readHdf5(weights);
}

/** Names of the counter of an optimizer in `model.save("model.h5")`, by Keras 3 and 2. */
const KERAS_COUNTERS = ["iteration", "iteration:0", "iter:0"] as const;
const MOST_OPTIMIZERS = 8;

/** Reads how often the optimizer of a Keras model has stepped: its first variable, or by name in the older form. */
async function readHdf5(source: ByteSource): Promise<Counters> {
  const file = await openHdf5(source);
  if (file === null) return NONE;
  const paths: string[][] = [["optimizer", "vars", "0"]];
  const older = (await file.list(file.root)).get("optimizer_weights");
  const names = older === undefined ? [] : [...(await file.list(older)).keys()].slice(0, MOST_OPTIMIZERS);
  for (const optimizer of names) paths.push(...KERAS_COUNTERS.map((name) => ["optimizer_weights", optimizer, name]));
  for (const path of paths) {
    const steps = await numberAt(file, path);
    if (steps !== null) return new Map([["iterations", steps]]);
  }
  return NONE;
}

/** `{"learner":` begins every model of XGBoost; in UBJSON a key is `L` and its length in eight bytes. */
const XGBOOST = /^\s*\{(\s*"learner"\s*:|L[^]{8}learner\{)/;
/** The list with the first tree of each round, and of the end: the start of JSON, or the count that UBJSON writes. */
const ROUNDS_TEXT = /"iteration_indptr"\s*:\s*\[([\d,\s]*)\]/;
const ROUNDS_BINARY = /iteration_indptr\[(?:\$[a-zA-Z])?#L([^]{8})/;

/** Reads the number of rounds that an XGBoost model was boosted. */
async function readXgboost(source: BoundedSource): Promise<Counters> {
  const text = Buffer.from(await source.read(0, Math.min(MOST_START_BYTES, source.sizeBytes))).toString("latin1");
  if (!XGBOOST.test(text)) return NONE;
  const list = ROUNDS_TEXT.exec(text)?.[1];
  const count = ROUNDS_BINARY.exec(text)?.[1];
  const ends =
    list === undefined
      ? count === undefined
        ? 0
        : Number(Buffer.from(count, "latin1").readBigUInt64BE(0))
      : list.split(",").length;
  return ends > 1 ? new Map([["iteration", ends - 1]]) : NONE;
}
