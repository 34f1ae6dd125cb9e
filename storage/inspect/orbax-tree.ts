import { visibleStart } from "#protocol/base/visible-text.ts";
import { dtypeOfNumpy, dtypeOfTorch } from "./dtypes.ts";
import { isRecord, parseJson } from "./parse-json.ts";
import { malformed } from "./source.ts";

/**
 * Parses Orbax's tree of arrays (`_METADATA`) and zarr's description of one array. Orbax gives names and kinds of leaves.
 * The shape that Orbax notes is that of one device's piece, so shapes and dtypes are taken from zarr. Source:
 * `orbax/checkpoint/_src/metadata/tree.py`, `value_metadata_entry.py`; zarr specifications 2 and 3.
 */
export interface OrbaxTree {
  leaves: OrbaxLeaf[];
  /** Whether OCDBT holds the arrays, else a folder for each. Null (older versions): decided by whether a manifest exists. */
  isOcdbt: boolean | null;
  isZarr3: boolean;
}

export interface OrbaxLeaf {
  /** Name in zarr: the keys on the path to the leaf, joined by dots. */
  name: string;
  /** `jax.Array`, `np.ndarray`, `scalar`, `string`, or a future kind. */
  kind: string;
}

const MOST_LEAVES = 200_000;

/** Parses the tree; null for other JSON. @throws Fault MALFORMED */
export function readTree(parsed: unknown): OrbaxTree | null {
  if (!isRecord(parsed) || !isRecord(parsed["tree_metadata"])) return null;
  const leaves: OrbaxLeaf[] = [];
  for (const entry of Object.values(parsed["tree_metadata"])) {
    const keys = isRecord(entry) ? entry["key_metadata"] : null;
    const value = isRecord(entry) ? entry["value_metadata"] : null;
    if (!Array.isArray(keys) || !isRecord(value)) throw malformed("a leaf of its tree has no name or no kind");
    // Empty leaves, for which nothing is stored.
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

/** Returns whether a leaf is stored as an array. Strings share one file instead. */
export const isArray = ({ kind }: OrbaxLeaf): boolean => kind !== "string";

/** The OCDBT index, relative to the tree's folder. */
export const OCDBT_MANIFEST = "manifest.ocdbt";

/** Returns the path of an array's zarr metadata, relative to the tree's folder. */
export const zarrPathOf = ({ isZarr3 }: Pick<OrbaxTree, "isZarr3">, name: string): string =>
  `${name}/${isZarr3 ? "zarr.json" : ".zarray"}`;

export interface ZarrArray {
  /** `OPAQUE` for a type without a safetensors name. */
  dtype: string;
  shape: number[];
  /** Number of chunk objects if none is omitted; null when the chunk shape is unknown. */
  pieces: number | null;
}

/** Parses `.zarray` or `zarr.json`. @throws Fault MALFORMED */
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

/** Returns the chunk shape in zarr 3 metadata. */
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
