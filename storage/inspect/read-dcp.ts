import { bytesOf } from "./dtypes.ts";
import { addMetadata, addTensor, elementsOf, type Found, warn } from "./found.ts";
import { readPickle } from "./pickle/read-pickle.ts";
import { type BoundedSource, malformed } from "./source.ts";
import { calleeOf, isCall, itemsOf, pairsOf, shapeOf, torchDtypeOf } from "./torch-values.ts";
import type { PickleValue } from "./pickle/pickle-value.ts";

/**
 * Reads `.metadata` of PyTorch's distributed checkpoints (DCP): pickled dataclasses with each tensor's dtype and size,
 * and the file of each of its pieces. Source: `torch/distributed/checkpoint/metadata.py` and `filesystem.py`.
 */
const MODULE = "torch.distributed.checkpoint.metadata.";
const MOST_FILES = 10_000;
/** No dataclass here has as many fields. The limit bounds the search, as thousands of objects may share one large state. */
const MOST_FIELDS = 64;

/** Reads the metadata. Rejects with Fault MALFORMED or TOO_MUCH_INSIDE, or Faults of the source. */
export async function readDcp(source: BoundedSource, found: Found): Promise<void> {
  const read = readPickle(await source.read(0, source.sizeBytes));
  if (read === null) throw malformed("it is cut short in the middle of its pickle");
  if (calleeOf(read.value) !== `${MODULE}Metadata`)
    throw malformed("it is a pickle, but no metadata of a distributed checkpoint");
  found.framework = "torch-dcp";
  const described = pairsOf(fieldOf(read.value, "state_dict_metadata"));
  if (described === null) throw malformed("it does not describe what was saved");
  for (const [key, value] of described) {
    if (typeof key !== "string") throw malformed("a tensor has no name");
    const what = calleeOf(value);
    if (what === `${MODULE}TensorStorageMetadata`) addDescribed(found, { name: key, value });
    else if (what === `${MODULE}BytesStorageMetadata`) addMetadata(found, key, "(a value that is no tensor)");
    else warn(found, "it is neither a tensor nor bytes", key);
  }
  readFiles(read.value, found);
}

/** Returns a field of a dataclass, from the state that the pickle would set. */
function fieldOf(value: PickleValue | undefined, name: string): PickleValue | undefined {
  if (value === undefined || !isCall(value)) return undefined;
  return pairsOf(value.state)
    ?.slice(0, MOST_FIELDS)
    .find(([key]) => key === name)?.[1];
}

function addDescribed(found: Found, about: { name: string; value: PickleValue }): void {
  const { name, value } = about;
  const properties = fieldOf(value, "properties");
  // Newer versions pickle a tuple (`__getstate__`), older ones a dictionary.
  const state = properties !== undefined && isCall(properties) ? properties.state : undefined;
  const dtype = torchDtypeOf(itemsOf(state)[0] ?? fieldOf(properties, "dtype")) ?? "OPAQUE";
  if (dtype === "OPAQUE") warn(found, "a tensor has a dtype that is not known", name);
  const shape = shapeOf(fieldOf(value, "size"), "the size of a tensor");
  addTensor(found, { name, dtype, shape, sizeBytes: bytesOf(dtype, elementsOf(shape, name)) ?? 0, offset: null });
}

/** Returns the files that the metadata names with the least size of each; partial or empty for an unreadable pickle. */
export function readDcpSizes(bytes: Uint8Array): Map<string, number> {
  const sizes = new Map<string, number>();
  try {
    for (const [, info] of pairsOf(fieldOf(readPickle(bytes)?.value, "storage_data")) ?? []) {
      const path = fieldOf(info, "relative_path");
      const end = Number(fieldOf(info, "offset")) + Number(fieldOf(info, "length"));
      if (typeof path !== "string" || path.length > 1_024 || !Number.isSafeInteger(end)) continue;
      if (sizes.size < MOST_FILES || sizes.has(path)) sizes.set(path, Math.max(sizes.get(path) ?? 0, end));
    }
  } catch {
    return sizes;
  }
  return sizes;
}

function readFiles(value: PickleValue, found: Found): void {
  const files = new Set<string>();
  for (const [, info] of pairsOf(fieldOf(value, "storage_data")) ?? []) {
    const path = fieldOf(info, "relative_path");
    if (typeof path === "string" && path.length <= 1_024 && files.size < MOST_FILES) files.add(path);
  }
  found.names = [...files].sort();
}
