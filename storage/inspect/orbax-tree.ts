import { visibleStart } from "#protocol/base/visible-text.ts";
import { dtypeOfNumpy, dtypeOfTorch } from "./dtypes.ts";
import { isRecord, parseJson } from "./parse-json.ts";
import { malformed } from "./source.ts";

/**
 * What Orbax says of a tree of arrays in `_METADATA`, and zarr of one array. Orbax names leaves and their kinds; the shape
 * that it notes is that of the piece that one device wrote, so that shapes and dtypes are zarr's alone. Source:
 * `orbax/checkpoint/_src/metadata/tree.py`, `value_metadata_entry.py`; zarr specifications 2 and 3.
 */
export interface OrbaxTree {
  leaves: OrbaxLeaf[];
  /** Arrays lie in TensorStore's OCDBT; else each in a folder of its name. Null: older versions do not say, its manifest is there or not. */
  isOcdbt: boolean | null;
  isZarr3: boolean;
}

export interface OrbaxLeaf {
  /** As zarr has it: the keys on the way to it, with dots between. */
  name: string;
  /** `jax.Array`, `np.ndarray`, `scalar`, `string`, and whatever is to come. */
  kind: string;
}

const MOST_LEAVES = 200_000;

/** Null for JSON that is something else. Faults: MALFORMED. */
export function readTree(parsed: unknown): OrbaxTree | null {
  if (!isRecord(parsed) || !isRecord(parsed["tree_metadata"])) return null;
  const leaves: OrbaxLeaf[] = [];
  for (const entry of Object.values(parsed["tree_metadata"])) {
    const keys = isRecord(entry) ? entry["key_metadata"] : null;
    const value = isRecord(entry) ? entry["value_metadata"] : null;
    if (!Array.isArray(keys) || !isRecord(value)) throw malformed("a leaf of its tree has no name or no kind");
    // Empty places of the tree, of which nothing is stored.
    if (value["skip_deserialize"] === true) continue;
    const names = keys.map((key: unknown) => (isRecord(key) ? key["key"] : null));
    if (!names.every((name) => typeof name === "string" || typeof name === "number"))
      throw malformed("a leaf of its tree has no name");
    const kind = value["value_type"];
    leaves.push({ name: names.join("."), kind: typeof kind === "string" ? visibleStart(kind, 64) : "" });
    if (leaves.length > MOST_LEAVES) throw malformed(`its tree has more than ${MOST_LEAVES} leaves`);
  }
  const isOcdbt = parsed["use_ocdbt"];
  return { leaves, isOcdbt: typeof isOcdbt === "boolean" ? isOcdbt : null, isZarr3: parsed["use_zarr3"] === true };
}

/** Text is kept in a file for all of it, everything else as an array. */
export const isArray = ({ kind }: OrbaxLeaf): boolean => kind !== "string";

/** The index of an OCDBT, from the folder of the tree. */
export const OCDBT_MANIFEST = "manifest.ocdbt";

/** Where zarr describes an array, from the folder of the tree. */
export const zarrPathOf = ({ isZarr3 }: Pick<OrbaxTree, "isZarr3">, name: string): string =>
  `${name}/${isZarr3 ? "zarr.json" : ".zarray"}`;

export interface ZarrArray {
  /** `OPAQUE` when it has no name here. */
  dtype: string;
  shape: number[];
  /** Objects that hold its elements, when none is left out; null when that is not said. */
  pieces: number | null;
}

/** `.zarray` and `zarr.json`. Faults: MALFORMED. */
export function readZarr(bytes: Uint8Array): ZarrArray {
  const parsed = parseJson(bytes);
  const shape: unknown = isRecord(parsed) ? parsed["shape"] : null;
  const dtype: unknown = isRecord(parsed) ? (parsed["dtype"] ?? parsed["data_type"]) : null;
  if (!Array.isArray(shape) || !shape.every((length): length is number => typeof length === "number"))
    throw malformed("what zarr says of an array has no shape");
  const pieces = piecesOf(shape, isRecord(parsed) ? (parsed["chunks"] ?? chunkShapeOf(parsed)) : null);
  if (typeof dtype !== "string") return { dtype: "OPAQUE", shape, pieces };
  return { dtype: dtypeOfNumpy(dtype) ?? dtypeOfTorch(dtype) ?? "OPAQUE", shape, pieces };
}

/** Of zarr 3. */
function chunkShapeOf(parsed: Record<string, unknown>): unknown {
  const grid = parsed["chunk_grid"];
  const about = isRecord(grid) ? grid["configuration"] : null;
  return isRecord(about) ? about["chunk_shape"] : null;
}

function piecesOf(shape: readonly number[], chunks: unknown): number | null {
  if (!Array.isArray(chunks) || chunks.length !== shape.length) return null;
  let pieces = 1;
  for (const [dimension, length] of shape.entries()) {
    const chunk: unknown = chunks[dimension];
    if (typeof chunk !== "number" || !(chunk > 0)) return null;
    pieces *= Math.ceil(length / chunk);
  }
  return pieces;
}
