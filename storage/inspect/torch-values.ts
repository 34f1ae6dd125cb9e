import { INSPECT_LIMITS } from "#protocol/checkpoint/inspect-limits.ts";
import { bytesOf, dtypeOfStorage, dtypeOfTorch } from "./dtypes.ts";
import { addMetadata, addTensor, elementsOf, type Found, warn } from "./found.ts";
import type { PickleCall, PickleValue } from "./pickle/pickle-value.ts";
import { malformed, tooMuch, wholeNumber } from "./source.ts";

/**
 * Interprets pickle records for the few callables with which `torch.save` describes tensors. Any other call is opaque: a
 * warning names it, and its content is not examined. Source: `torch/_utils.py` and `torch/serialization.py`.
 */

/** Size, offset and checksum of a storage, as far as the container knows them. */
export interface StoredBytes {
  sizeBytes: number;
  offset: number | null;
  crc32: string | null;
}

interface Walk {
  found: Found;
  storedAt: (key: string) => StoredBytes | null;
  nodes: number;
  opaque: Set<string>;
}

const MOST_DEPTH = 64;
const MOST_NODES = 1_000_000;
const MOST_OPAQUE = 20;
/** Upper limit: two sets of indices, values, size, and a flag. */
const MOST_SPARSE_PARTS = 8;

export const isCall = (value: PickleValue): value is PickleCall =>
  typeof value === "object" && value !== null && value.kind === "call";

/** Returns the name of the callable, or "". */
export const calleeOf = (value: PickleValue): string =>
  isCall(value) && typeof value.of === "object" && value.of?.kind === "global" ? value.of.name : "";

export const itemsOf = (value: PickleValue | undefined): readonly PickleValue[] =>
  typeof value === "object" && value !== null && (value.kind === "tuple" || value.kind === "list") ? value.items : [];

/** Returns the pairs of any kind of dictionary; null for other values. */
export function pairsOf(value: PickleValue | undefined): readonly [PickleValue, PickleValue][] | null {
  if (typeof value !== "object" || value === null) return null;
  if (value.kind === "dict") return value.pairs;
  const isDict = /^(collections\.(OrderedDict|defaultdict)|builtins\.dict|__builtin__\.dict)$/.test(calleeOf(value));
  return isCall(value) && isDict ? value.pairs : null;
}

/** Reads a shape from `torch.Size` or a plain tuple. @throws Fault MALFORMED unless it holds whole numbers only */
export function shapeOf(value: PickleValue | undefined, what: string): number[] {
  const of = value !== undefined && calleeOf(value) === "torch.Size" && isCall(value) ? itemsOf(value.args)[0] : value;
  if (typeof of !== "object" || of === null || of.kind !== "tuple") throw malformed(`${what} is no tuple of numbers`);
  // Checked before the numbers are read, because thousands of tensors may share one long tuple.
  if (of.items.length > INSPECT_LIMITS.dimensions) throw malformed(`${what} has ${of.items.length} dimensions`);
  return of.items.map((length) => {
    if (typeof length !== "number") throw malformed(`${what} holds something that is no number`);
    return wholeNumber(length, what);
  });
}

/** Returns the type of a global such as `torch.float32`, or null. */
export function torchDtypeOf(value: PickleValue | undefined): string | null {
  if (typeof value !== "object" || value === null || value.kind !== "global") return null;
  return value.name.startsWith("torch.") ? dtypeOfTorch(value.name.slice("torch.".length)) : null;
}

/**
 * Adds every tensor below a value, named by its path: keys and positions joined by dots.
 * @throws Fault MALFORMED for an inconsistent tensor, TOO_MUCH_INSIDE
 */
export function collectTensors(value: PickleValue, found: Found, storedAt: Walk["storedAt"]): void {
  const walk: Walk = { found, storedAt, nodes: 0, opaque: new Set() };
  walkValue(walk, { value, path: "", depth: 0 });
  for (const name of walk.opaque)
    warn(found, "a value of this class is opaque: it is never built, so nothing is said of what is in it", name);
}

function walkValue(walk: Walk, at: { value: PickleValue; path: string; depth: number }): void {
  const { value, path, depth } = at;
  if (typeof value !== "object" || value === null) return;
  if (++walk.nodes > MOST_NODES) throw tooMuch("the same things are named in it again and again");
  if (depth > MOST_DEPTH) return warn(walk.found, `what lies deeper than ${MOST_DEPTH} levels is not looked at`);
  const below = path === "" ? "" : `${path}.`;
  const pairs = pairsOf(value);
  if (pairs !== null) {
    for (const [key, item] of pairs) {
      const name = keyText(key);
      if (name !== null) walkValue(walk, { value: item, path: below + name, depth: depth + 1 });
      else if (walk.opaque.size < MOST_OPAQUE) walk.opaque.add("a key that is no text and no number");
    }
    return;
  }
  if (value.kind === "list" || value.kind === "tuple") {
    for (const [index, item] of value.items.entries())
      walkValue(walk, { value: item, path: `${below}${index}`, depth: depth + 1 });
    return;
  }
  if (!isCall(value)) return;
  if (addIfTensor(walk, { value, path, depth })) return;
  const name = calleeOf(value);
  if (!HARMLESS.has(name) && walk.opaque.size < MOST_OPAQUE)
    walk.opaque.add(name === "" ? "something without a name" : name);
}

/** Callables that describe numbers and flags, never tensors. */
const HARMLESS: ReadonlySet<string> = new Set(["torch.Size", "torch.device", "torch.serialization._get_layout"]);

const keyText = (key: PickleValue): string | null =>
  typeof key === "string" || typeof key === "number" || typeof key === "bigint" || typeof key === "boolean"
    ? String(key)
    : null;

const WRAPPERS: ReadonlySet<string> = new Set([
  "torch._utils._rebuild_parameter",
  "torch._utils._rebuild_parameter_with_state",
]);
const PLAIN = /^torch\._utils\._rebuild_(tensor|tensor_v2|tensor_v3|qtensor)$/;

/** Adds the value if it is a tensor, and returns whether it is. */
function addIfTensor(walk: Walk, at: { value: PickleCall; path: string; depth: number }): boolean {
  const { value, path, depth } = at;
  // The description may contain itself.
  if (++walk.nodes > MOST_NODES) throw tooMuch("the same things are named in it again and again");
  if (depth > MOST_DEPTH) throw malformed("a tensor is made of a tensor, again and again");
  const name = calleeOf(value);
  const args = itemsOf(value.args);
  if (PLAIN.test(name)) {
    addStrided(walk, { args, path, isV3: name.endsWith("_v3") });
    return true;
  }
  if (WRAPPERS.has(name)) {
    walkValue(walk, { value: args[0] ?? null, path, depth: depth + 1 });
    return true;
  }
  if (name === "torch._tensor._rebuild_from_type_v2") {
    // A tensor subclass: continue with the function and arguments that would have built the base tensor.
    const [of = null, , inner = null] = args;
    const made: PickleCall = { kind: "call", of, args: inner, items: [], pairs: [], state: null };
    if (!addIfTensor(walk, { value: made, path, depth: depth + 1 })) walk.opaque.add(calleeOf(made));
    return true;
  }
  if (name === "torch._utils._rebuild_sparse_tensor") {
    addSparse(walk, { data: itemsOf(args[1]), path });
    return true;
  }
  if (name === "torch._utils._rebuild_meta_tensor_no_storage") {
    const dtype = torchDtypeOf(args[0]) ?? "OPAQUE";
    const shape = shapeOf(args[1], "the shape of a tensor");
    warn(walk.found, "a tensor has a shape but no content (it was saved from the device `meta`)", path);
    elementsOf(shape, path);
    addTensor(walk.found, { name: path, dtype, shape, sizeBytes: 0, offset: null });
    return true;
  }
  return false;
}

interface Storage {
  key: string;
  dtype: string;
  /** Elements of `dtype`. */
  elements: number;
}

/** Reads the id that `persistent_id` writes: `("storage", class, key, location, count)`. */
function storageOf(value: PickleValue | undefined): Storage {
  const id = typeof value === "object" && value !== null && value.kind === "persistent" ? itemsOf(value.id) : [];
  const [tag, type, key, , count] = id;
  if (tag !== "storage" || typeof key !== "string" || typeof count !== "number") {
    throw malformed("a tensor does not say where its content lies");
  }
  const name =
    typeof type === "object" && type?.kind === "global" ? type.name.slice(type.name.lastIndexOf(".") + 1) : "";
  return { key, dtype: dtypeOfStorage(name) ?? "OPAQUE", elements: wholeNumber(count, "the length of a storage") };
}

interface Strided {
  dtype: string;
  shape: number[];
  sizeBytes: number;
  offset: number | null;
  crc32: string | null;
}

function strided(walk: Walk, at: { args: readonly PickleValue[]; path: string; isV3: boolean }): Strided {
  const { args, path, isV3 } = at;
  const storage = storageOf(args[0]);
  const dtype = isV3 ? (torchDtypeOf(args[6]) ?? "OPAQUE") : storage.dtype;
  if (dtype === "OPAQUE") warn(walk.found, "a tensor has a dtype that is not known", path);
  const first = wholeNumber(typeof args[1] === "number" ? args[1] : -1, "where a tensor begins");
  const shape = shapeOf(args[2], "the shape of a tensor");
  const strides = shapeOf(args[3], "the strides of a tensor");
  if (strides.length !== shape.length) throw malformed("a tensor has not as many strides as dimensions");
  const elements = elementsOf(shape, path);
  const sizeBytes = bytesOf(dtype, elements) ?? 0;
  const storageBytes = bytesOf(storage.dtype, storage.elements) ?? 0;
  const last =
    elements === 0 ? 0 : first + shape.reduce((sum, length, axis) => sum + (length - 1) * (strides[axis] ?? 0), 0) + 1;
  if (dtype !== "OPAQUE" && (bytesOf(dtype, last) ?? 0) > storageBytes)
    throw malformed("a tensor reaches past the end of its storage");
  const stored = walk.storedAt(storage.key);
  if (stored !== null && stored.sizeBytes < storageBytes)
    throw malformed("a storage is shorter than the tensors in it");
  let row = 1;
  const isPacked = shape.every((_, axis) => {
    const place = shape.length - 1 - axis;
    const fits = (shape[place] ?? 1) === 1 || strides[place] === row;
    row *= shape[place] ?? 1;
    return fits;
  });
  const offset = stored?.offset == null || !isPacked ? null : stored.offset + (bytesOf(dtype, first) ?? 0);
  // The checksum covers the whole storage, so it applies only to a tensor that fills the storage.
  const crc32 = stored !== null && isPacked && first === 0 && sizeBytes === stored.sizeBytes ? stored.crc32 : null;
  return { dtype, shape, sizeBytes, offset, crc32 };
}

function addStrided(walk: Walk, at: { args: readonly PickleValue[]; path: string; isV3: boolean }): void {
  addTensor(walk.found, { name: at.path, ...strided(walk, at) });
}

/** Adds a sparse tensor with the shape of the whole, and the bytes of its indices and values. */
function addSparse(walk: Walk, at: { data: readonly PickleValue[]; path: string }): void {
  const { data, path } = at;
  if (data.length > MOST_SPARSE_PARTS) throw malformed("a sparse tensor has more parts than there are");
  const parts = data.filter((part) => PLAIN.test(calleeOf(part)));
  const read = parts.map((part) => {
    const args = isCall(part) ? itemsOf(part.args) : [];
    return strided(walk, { args, path, isV3: calleeOf(part).endsWith("_v3") });
  });
  const values = read.at(-1);
  const size = data.find((part) => calleeOf(part) === "torch.Size") ?? data[parts.length];
  if (values === undefined) throw malformed("a sparse tensor has no values");
  const shape = shapeOf(size, "the shape of a sparse tensor");
  elementsOf(shape, path);
  const sizeBytes = read.reduce((sum, part) => sum + part.sizeBytes, 0);
  addTensor(walk.found, { name: path, dtype: values.dtype, shape, sizeBytes, offset: null });
}

/** Adds the checkpoint's own facts: numbers, texts and flags of its outermost dictionary. */
export function describeTop(value: PickleValue, found: Found): void {
  for (const [key, item] of pairsOf(value) ?? []) {
    if (typeof key !== "string") continue;
    if (item === null || typeof item !== "object") addMetadata(found, key, String(item));
    const writer = WRITERS.get(key);
    if (writer !== undefined) found.framework ??= writer;
  }
}

const WRITERS: ReadonlyMap<string, string> = new Map([
  ["pytorch-lightning_version", "lightning"],
  ["ds_version", "deepspeed"],
  ["ds_config", "deepspeed"],
  ["checkpoint_version", "megatron"],
]);
