import { isRecord } from "../inspect/parse-json.ts";
import { checkSpans, LENGTH_BYTES, readHeader, tensorOf } from "../inspect/safetensors-header.ts";
import { type BoundedSource, malformed, tooMuch } from "../inspect/source.ts";
import { shardPath } from "#protocol/recognition/checkpoint-file-names.ts";
import { INSPECT_LIMITS } from "#protocol/checkpoint/inspect-limits.ts";

/**
 * Copies selected tensors of a safetensors file into a new file. This code reads the header and plans the moves; the
 * caller, which has the bytes, executes them. https://github.com/huggingface/safetensors#format
 */
export interface LaidTensor {
  name: string;
  dtype: string;
  shape: number[];
  /** Byte offsets relative to `dataAt`. */
  begin: number;
  end: number;
}

export interface Layout {
  metadata: Record<string, unknown> | undefined;
  dataAt: number;
  /** In header order. */
  tensors: LaidTensor[];
}

export interface Range {
  /** Offset in the file. */
  from: number;
  length: number;
}

export interface Move extends Range {
  /** Offset in the new file. */
  to: number;
}

/** A new file made of parts of another one. */
export interface Cut {
  /** The new file's first bytes. */
  header: Buffer;
  /** In file order, which is the same in both files. */
  moves: Move[];
  /** Size of the new file. */
  sizeBytes: number;
  /** In header order. */
  tensors: LaidTensor[];
}

const MOST_NAME = 1_024;
/** The tensor data starts at a multiple of this. */
const ALIGN_BYTES = 8;

/** Reads the layout. Rejects with Fault MALFORMED or TOO_MUCH_INSIDE, or Faults of the source. */
export async function readLayout(source: BoundedSource): Promise<Layout> {
  const { entries, metadata, dataAt } = await readHeader(source);
  if (entries.length > INSPECT_LIMITS.tensors) throw tooMuch(`it has more than ${INSPECT_LIMITS.tensors} tensors`);
  const tensors = entries.map(([name, entry]) => {
    if (name.length > MOST_NAME) throw malformed(`a tensor has a name of ${name.length} characters`);
    const { dtype, shape, begin, end } = tensorOf(name, entry);
    return { name, dtype, shape, begin, end };
  });
  checkSpans(tensors, source.sizeBytes - dataAt);
  return { metadata, dataAt, tensors };
}

/** Returns the new file's plan; null when no tensor matches. Keeps metadata and order, drops gaps between tensors. */
export function cutOut(layout: Layout, fits: (name: string) => boolean): Cut | null {
  const chosen = layout.tensors.filter(({ name }) => fits(name));
  if (chosen.length === 0) return null;
  const inOrder = chosen.toSorted((a, b) => a.begin - b.begin || a.end - b.end);
  const placed = new Map<LaidTensor, number>();
  let at = 0;
  for (const tensor of inOrder) {
    placed.set(tensor, at);
    at += tensor.end - tensor.begin;
  }
  const header = headerOf(layout.metadata, new Map(chosen.map((tensor) => [tensor, placed.get(tensor) ?? 0])));
  const moves: Move[] = [];
  for (const tensor of inOrder) {
    const move = {
      from: layout.dataAt + tensor.begin,
      to: header.length + (placed.get(tensor) ?? 0),
      length: tensor.end - tensor.begin,
    };
    const last = moves.at(-1);
    if (move.length === 0) continue;
    if (last !== undefined && last.from + last.length === move.from) last.length += move.length;
    else moves.push(move);
  }
  return { header, moves, sizeBytes: header.length + at, tensors: chosen };
}

/** Writes the JSON by hand: an object would reorder number-like names and lose the name `__proto__`. */
function headerOf(metadata: Layout["metadata"], placed: ReadonlyMap<LaidTensor, number>): Buffer {
  const entries = [...placed].map(([{ name, dtype, shape, begin, end }, at]) => {
    const entry = { dtype, shape, data_offsets: [at, at + end - begin] };
    return `${JSON.stringify(name)}:${JSON.stringify(entry)}`;
  });
  const first = metadata === undefined ? [] : [`"__metadata__":${JSON.stringify(metadata)}`];
  const text = Buffer.from(`{${[...first, ...entries].join(",")}}`);
  const padded = Math.ceil((LENGTH_BYTES + text.length) / ALIGN_BYTES) * ALIGN_BYTES;
  const header = Buffer.alloc(padded, " ");
  header.writeBigUInt64LE(BigInt(padded - LENGTH_BYTES));
  text.copy(header, LENGTH_BYTES);
  return header;
}

/** A piece of an extent to fetch: `from` is an offset within the extent. */
export interface NeededPiece {
  /** Index of the extent in the file. */
  extent: number;
  from: number;
  length: number;
  /** Offset in the file. */
  fileOffset: number;
}

/** Downloading this many unneeded bytes takes no longer than one more request. */
const MOST_GAP_BYTES = 64 * 1024;

/**
 * Returns the pieces that contain these ranges. An extent with a known checksum is taken whole, because only the whole
 * can be verified. From an extent without a checksum only the needed bytes are taken.
 */
export function neededPieces(
  extents: readonly { length: number; crc32: string | null }[],
  ranges: readonly Range[],
): NeededPiece[] {
  const wanted = joined(ranges, 0);
  const pieces: NeededPiece[] = [];
  let at = 0;
  let next = 0;
  for (const [extent, { length, crc32 }] of extents.entries()) {
    const end = at + length;
    const inside: Range[] = [];
    for (;;) {
      const range = wanted[next];
      if (range === undefined || range.from >= end) break;
      const first = Math.max(range.from, at);
      const last = Math.min(range.from + range.length, end);
      if (first < last) inside.push({ from: first, length: last - first });
      if (range.from + range.length > end) break;
      next++;
    }
    if (crc32 !== null && inside.length > 0) pieces.push({ extent, from: 0, length, fileOffset: at });
    else
      for (const range of joined(inside, MOST_GAP_BYTES))
        pieces.push({ extent, from: range.from - at, length: range.length, fileOffset: range.from });
    at = end;
  }
  return pieces;
}

/** Sorts the ranges and merges those at most `gapBytes` apart. */
function joined(ranges: readonly Range[], gapBytes: number): Range[] {
  const near: Range[] = [];
  for (const { from, length } of ranges.filter((one) => one.length > 0).toSorted((a, b) => a.from - b.from)) {
    const last = near.at(-1);
    if (last !== undefined && from - (last.from + last.length) <= gapBytes)
      last.length = Math.max(last.length, from + length - last.from);
    else near.push({ from, length });
  }
  return near;
}

/** A parsed index of shards (`model.safetensors.index.json`). */
export interface ShardIndex {
  parsed: Record<string, unknown>;
  /** Tensor names with the file of each in the same folder, in order. */
  map: [name: string, file: string][];
}

/** Reads a shard index. @throws Fault MALFORMED */
export function readShardIndex(parsed: unknown): ShardIndex {
  const map = isRecord(parsed) ? parsed["weight_map"] : undefined;
  if (!isRecord(parsed) || !isRecord(map)) throw malformed("it has no weight_map");
  return {
    parsed,
    map: Object.entries(map).map(([name, file]) => {
      if (typeof file !== "string" || file.length > MOST_NAME)
        throw malformed("it does not say of every tensor in which file it lies");
      return [name, shardPath(file)];
    }),
  };
}

/** Returns the index of the tensors that are present, as transformers writes it; null for none. `tensorBytes`: their total. */
export function cutIndex(
  { parsed, map }: ShardIndex,
  there: { isThere(name: string, file: string): boolean; tensorBytes: number },
): Buffer | null {
  const left = map.filter(([name, file]) => there.isThere(name, file));
  if (left.length === 0) return null;
  const metadata = isRecord(parsed["metadata"]) ? parsed["metadata"] : {};
  const { total_parameters: _parameters, ...kept } = metadata;
  const index = {
    ...parsed,
    metadata: { ...kept, total_size: there.tensorBytes },
    weight_map: Object.fromEntries(left),
  };
  return Buffer.from(`${JSON.stringify(index, null, 2)}\n`);
}
