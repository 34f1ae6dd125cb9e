import { visibleStart } from "#protocol/base/visible-text.ts";
import { INSPECT_LIMITS } from "#protocol/checkpoint/inspect-limits.ts";
import { bytesOf } from "./dtypes.ts";
import { elementsOf } from "./found.ts";
import { isRecord, parseJson } from "./parse-json.ts";
import { type BoundedSource, malformed, tooMuch, wholeNumber } from "./source.ts";

/**
 * Reads the header of a safetensors file: its length as 8 little-endian bytes, then that many bytes of JSON. The tensors
 * follow without gaps. https://github.com/huggingface/safetensors#format
 */
export const LENGTH_BYTES = 8;
/** The format's limit. */
const MOST_HEADER_BYTES = 100_000_000;

export interface SafetensorsHeader {
  /** In file order, without `__metadata__`. */
  entries: [name: string, entry: unknown][];
  /** Undefined when the header has none. */
  metadata: Record<string, unknown> | undefined;
  /** File offset of the tensor data, to which tensor offsets are relative. */
  dataAt: number;
}

export interface HeaderTensor {
  dtype: string;
  shape: number[];
  begin: number;
  end: number;
  /** Null when the element size is unknown. */
  expectedBytes: number | null;
}

/** Wrong content that often carries this file name, by its first bytes. */
const OTHERS: readonly (readonly [RegExp, string])[] = [
  [/^version /, "a pointer of Git LFS: the file itself was never fetched (git lfs pull)"],
  [/^\s*<(?:!doc|html|head|\?xml)/i, "a page or an answer of a server that was saved in its place"],
  [/^\s*\{"/, "JSON"],
];
const OPENING_BRACE = 0x7b;
/** First bytes of compressed files, as text of one byte a character. */
const COMPRESSED: readonly (readonly [string, string])[] = [
  ["\u001f\u008b", "gzip"],
  ["\u0028\u00b5\u002f\u00fd", "zstd"],
  ["\u00fd7zXZ\u0000", "xz"],
  ["BZh", "bzip2"],
  ["\u0004\u0022M\u0018", "lz4"],
];
/** Returns the compression of a file, by its first bytes; null: none that is known. */
export function compressionOf(start: Uint8Array): string | null {
  const text = String.fromCharCode(...start.subarray(0, LENGTH_BYTES));
  return COMPRESSED.find(([magic]) => text.startsWith(magic))?.[1] ?? null;
}

/** Returns what a file is instead of a checkpoint, by its first bytes; null where they say nothing. */
export function otherThan(start: Uint8Array): string | null {
  if (start.length < LENGTH_BYTES) return null;
  const compression = compressionOf(start);
  if (compression !== null) return `compressed with ${compression}`;
  const text = String.fromCharCode(...start.subarray(0, LENGTH_BYTES));
  return OTHERS.find(([pattern]) => pattern.test(text))?.[1] ?? null;
}

/** Reads the header. Rejects with Fault MALFORMED or TOO_MUCH_INSIDE, or Faults of the source. */
export async function readHeader(source: BoundedSource): Promise<SafetensorsHeader> {
  if (source.sizeBytes < LENGTH_BYTES) throw malformed("it is shorter than the length of its own header");
  const start = await source.read(0, LENGTH_BYTES);
  const headerBytes = new DataView(start.buffer, start.byteOffset, LENGTH_BYTES).getBigUint64(0, true);
  const other = otherThan(start);
  if (other !== null && headerBytes > BigInt(source.sizeBytes)) throw malformed(`it is ${other}, and no safetensors`);
  if (headerBytes > BigInt(MOST_HEADER_BYTES))
    throw malformed(`its header claims ${headerBytes} bytes; the format allows 100 MB`);
  const header = Number(headerBytes);
  if (header > source.leftBytes)
    throw tooMuch(`its header has ${header} bytes; at most ${INSPECT_LIMITS.readBytes} are read`);
  if (header > source.sizeBytes - LENGTH_BYTES) throw malformed(`it is cut short: its header has ${header} bytes`);
  const bytes = await source.read(LENGTH_BYTES, header);
  if (startsEmpty(bytes))
    throw malformed(
      "its header ends after {} and goes on with __metadata__: no library reads it, and it has no tensors",
    );
  const parsed = parseJson(bytes);
  if (!isRecord(parsed)) throw malformed("its header is no JSON object");
  if (bytes[0] !== OPENING_BRACE) throw malformed("its header does not begin with {, so no library reads it");
  const metadata = Object.hasOwn(parsed, "__metadata__") ? parsed["__metadata__"] : undefined;
  if (metadata !== undefined && !isRecord(metadata)) throw malformed("its __metadata__ is no JSON object");
  const entries = Object.entries(parsed).filter(([name]) => name !== "__metadata__");
  const twice = findTwice(bytes, entries.length);
  if (twice !== null) throw malformed(`its header names ${visibleStart(twice, 200)} twice`);
  return { entries, metadata, dataAt: LENGTH_BYTES + header };
}

/** Returns whether the header is `{}` followed by metadata, as a faulty writer produces for a file without tensors. */
const startsEmpty = (bytes: Uint8Array): boolean =>
  /^\{\s*\}\s*,\s*"__metadata__"/.test(
    Buffer.from(bytes.buffer, bytes.byteOffset, Math.min(64, bytes.length)).toString(),
  );

/**
 * Returns a name that the header has twice, or null. JSON.parse silently keeps the last, other libraries differ. Searched
 * only when there are more offsets than tensors, or two metadata entries.
 */
function findTwice(bytes: Uint8Array, tensors: number): string | null {
  const text = Buffer.from(bytes.buffer, bytes.byteOffset, bytes.length).toString();
  let offsets = 0;
  for (let at = text.indexOf(OFFSETS); at >= 0; at = text.indexOf(OFFSETS, at + 1)) offsets++;
  const metadata = text.indexOf(METADATA);
  if (offsets <= tensors && text.indexOf(METADATA, metadata + 1) <= metadata) return null;
  const seen = new Set<string>();
  for (const name of topNames(text)) {
    if (seen.has(name)) return name;
    seen.add(name);
  }
  return null;
}

const OFFSETS = '"data_offsets"';
const METADATA = '"__metadata__"';

/** Yields the names of the outermost object of a JSON text. */
function* topNames(text: string): Generator<string> {
  let depth = 0;
  for (let at = 0; at < text.length; at++) {
    const sign = text[at];
    if (sign === "{" || sign === "[") depth++;
    else if (sign === "}" || sign === "]") depth--;
    else if (sign === '"') {
      const from = at;
      for (at++; text[at] !== '"'; at++) if (text[at] === "\\") at++;
      if (depth === 1 && /^\s*:/.test(text.slice(at + 1, at + 64))) yield String(JSON.parse(text.slice(from, at + 1)));
    }
  }
}

/** Parses a tensor entry. @throws Fault MALFORMED when it is invalid, or its size contradicts dtype and shape */
export function tensorOf(name: string, entry: unknown): HeaderTensor {
  const { dtype, shape, data_offsets: offsets } = isRecord(entry) ? entry : {};
  const isNumbers = (value: unknown): value is number[] =>
    Array.isArray(value) && value.every((one) => typeof one === "number");
  if (typeof dtype !== "string" || !isNumbers(shape) || !isNumbers(offsets)) {
    throw malformed("a tensor lacks its dtype, shape or offsets");
  }
  const [begin, end] = offsets;
  if (begin === undefined || end === undefined || offsets.length !== 2) throw malformed("a tensor has no two offsets");
  wholeNumber(begin, "an offset of a tensor");
  wholeNumber(end, "an offset of a tensor");
  if (end < begin) throw malformed("a tensor ends before it begins");
  const expectedBytes = bytesOf(dtype, elementsOf(shape, name));
  if (expectedBytes !== null && expectedBytes !== end - begin) {
    throw malformed(`a tensor has ${end - begin} bytes where its dtype and shape make ${expectedBytes}`);
  }
  return { dtype, shape, begin, end, expectedBytes };
}

/** Returns the unused bytes between and behind tensors. @throws Fault MALFORMED when tensors overlap or the file is too short */
export function checkSpans(
  spans: readonly Pick<HeaderTensor, "begin" | "end">[],
  dataBytes: number,
): { between: number; behind: number } {
  let [reached, between] = [0, 0];
  for (const { begin, end } of spans.toSorted((a, b) => a.begin - b.begin || a.end - b.end)) {
    if (begin < reached) throw malformed("two of its tensors overlap");
    between += begin - reached;
    reached = end;
  }
  if (reached > dataBytes) throw malformed(`it is cut short: ${reached - dataBytes} bytes of its tensors are missing`);
  return { between, behind: dataBytes - reached };
}
