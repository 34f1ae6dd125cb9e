import { promisify } from "node:util";
import { zstdDecompress } from "node:zlib";
import { INSPECT_LIMITS } from "#protocol/checkpoint/inspect-limits.ts";
import { type BoundedBeside, type BoundedSource, malformed, tooMuch, wholeNumber } from "./source.ts";

/**
 * Reads the index of TensorStore's OCDBT, in which Orbax stores arrays. `manifest.ocdbt` names the root of a B+tree.
 * Leaves hold small values directly and give file and offset of large ones. The newest version is read. Values in data
 * files are not fetched. Source: "ocdbt Key-Value Store driver", https://google.github.io/tensorstore/kvstore/ocdbt/.
 * That page omits the manifest kind after the uuid.
 */
export interface OcdbtIndex {
  /** Requested values that the index itself holds, by key. */
  values: Map<string, Uint8Array>;
  /** Every file that the index names, with its least size in bytes. */
  files: Map<string, number>;
  /** Parts of the index lie in files that are missing or too short; `files` names those files too. */
  isPartial: boolean;
}

const MANIFEST_MAGIC = 0x0cdb3a2a;
const NODE_MAGIC = 0x0cdb20de;
const FOOTER_BYTES = 4;
const UUID_BYTES = 16;
const ZSTD = 1;

const MOST_ENTRIES = 1_000_000;
const MOST_HEIGHT = 16;
const MOST_PATH_BYTES = 65_535;
const MOST_KEY_BYTES = 4_096;
const MOST_FILES = 100_000;

const decompress = promisify(zstdDecompress);

/** Reads numbers and bytes of a decompressed body in sequence. All methods throw MALFORMED past its end. */
function createReader(bytes: Uint8Array, { expand }: Pick<BoundedSource, "expand">) {
  let at = 0;
  const take = (length: number): Uint8Array => {
    if (length > bytes.length - at) throw malformed("its index ends in the middle");
    at += length;
    return bytes.subarray(at - length, at);
  };
  const byte = (): number => take(1)[0] ?? 0;
  /** Reads a little-endian varint, seven bits per byte. An overlarge value exceeds every length, so its user rejects it. */
  const varint = (): number => {
    let value = 0;
    for (let index = 0; index < 10; index++) {
      const next = byte();
      value += (next & 0x7f) * 2 ** (7 * index);
      if (next < 0x80) return value;
    }
    throw malformed("a number in its index has no end");
  };
  /** Reads the number of following rows, each of at least one byte. */
  const count = (): number => {
    const rows = varint();
    if (rows > bytes.length - at) throw malformed("its index has fewer rows than it says");
    return rows;
  };
  const times = <T>(rows: number, read: () => T): T[] => Array.from({ length: rows }, read);
  return { take, byte, varint, count, times, expand };
}
type Reader = ReturnType<typeof createReader>;

/** Magic, length, and two one-byte numbers. */
const HEADER_BYTES = 14;

/** Decodes header, compressed body and checksum field, which manifests and nodes share. The checksum is not verified. */
async function unpack(bytes: Uint8Array, about: { magic: number; source: BoundedSource }): Promise<Reader> {
  const { magic, source } = about;
  const view = new DataView(bytes.buffer, bytes.byteOffset, bytes.length);
  if (bytes.length < HEADER_BYTES + FOOTER_BYTES || view.getUint32(0) !== magic)
    throw malformed("a piece of its index is none");
  if (view.getBigUint64(4, true) !== BigInt(bytes.length))
    throw malformed("a piece of its index has another length than it says");
  const [version, compression] = [view.getUint8(12), view.getUint8(13)];
  if (version !== 0 || compression > ZSTD) throw malformed("its index is of a form that is not known");
  const packed = bytes.subarray(HEADER_BYTES, bytes.length - FOOTER_BYTES);
  const body = compression === ZSTD ? await unpackZstd(packed, source.leftExpandedBytes) : packed;
  source.expand(body.length);
  return createReader(body, source);
}

const tooLarge = () => tooMuch(`its index has more than ${INSPECT_LIMITS.expandedBytes} bytes`);

const unpackZstd = (packed: Uint8Array, mostBytes: number): Promise<Uint8Array> =>
  decompress(packed, { maxOutputLength: Math.max(1, mostBytes) }).catch((error: unknown) => {
    if (error instanceof Error && "code" in error && error.code === "ERR_BUFFER_TOO_LARGE") throw tooLarge();
    throw malformed("a piece of its index cannot be unpacked");
  });

interface Place {
  /** Path relative to the manifest's folder. */
  path: string;
  /** Prefix of the paths in the node itself. */
  base: string;
}

/** Reads paths, which are stored as differences from the previous path. */
function readFileTable(reader: Reader, base: string): Place[] {
  const rows = reader.count();
  const shared = [0, ...reader.times(Math.max(0, rows - 1), reader.varint)];
  const lengths = reader.times(rows, reader.varint);
  const bases = reader.times(rows, reader.varint);
  return joinPrefixes(reader, { shared, lengths, most: MOST_PATH_BYTES }).map((path, row) => {
    if (base.length + path.length > MOST_PATH_BYTES) throw malformed("a path in its index is none");
    reader.expand(2 * base.length + path.length);
    return { path: base + textOf(path), base: base + textOf(path.subarray(0, bases[row])) };
  });
}

/** Decodes prefix-compressed names: each begins with the first `shared` bytes of the previous one. */
function joinPrefixes(
  reader: Reader,
  about: { shared: readonly number[]; lengths: readonly number[]; most: number },
): Uint8Array[] {
  const { shared, lengths, most } = about;
  let before: Uint8Array = new Uint8Array(0);
  return lengths.map((length, row) => {
    const same = shared[row] ?? 0;
    if (same > before.length || same + length > most) throw malformed("a name in its index is none");
    // A few stored bytes can expand to a name of 64 KiB, so expansion is counted.
    reader.expand(same + length);
    const whole = new Uint8Array(same + length);
    whole.set(before.subarray(0, same));
    whole.set(reader.take(length), same);
    before = whole;
    return whole;
  });
}

const textOf = (bytes: Uint8Array): string => new TextDecoder().decode(bytes);

/** Position of a node. */
interface NodeAt {
  place: Place;
  offset: number;
  length: number;
  height: number;
  /** Common prefix of its keys. */
  prefix: string;
}

/** Returns the root of the newest version; null for an empty one. */
function readManifest(reader: Reader): NodeAt | null {
  reader.take(UUID_BYTES);
  if (reader.varint() !== 0) throw malformed("its manifest is one of several, which are not read");
  for (let field = 0; field < 2; field++) reader.varint();
  reader.byte();
  const compression = reader.varint();
  if (compression > ZSTD) throw malformed("its manifest is of a form that is not known");
  if (compression === ZSTD) reader.take(4);
  const table = readFileTable(reader, "");
  const versions = reader.count();
  const last = versions - 1;
  if (versions === 0) throw malformed("its manifest names no version");
  reader.times(versions, reader.varint);
  const heights = reader.times(versions, reader.byte);
  const [files, offsets, lengths, keys] = [0, 1, 2, 3].map(() => reader.times(versions, reader.varint));
  if (keys?.[last] === 0) return null;
  const place = table[files?.[last] ?? -1];
  if (place === undefined) throw malformed("its manifest names a file that is not in its table");
  return { place, offset: offsets?.[last] ?? 0, length: lengths?.[last] ?? 0, height: heights[last] ?? 0, prefix: "" };
}

/** Reads the index. `manifest` is `manifest.ocdbt`, `open` opens files beside it. Rejects with MALFORMED, TOO_MUCH_INSIDE. */
export async function readOcdbt(
  manifest: BoundedSource,
  about: { open: BoundedBeside; wanted(key: string): boolean },
): Promise<OcdbtIndex> {
  const index: OcdbtIndex = { values: new Map(), files: new Map(), isPartial: false };
  const bytes = await manifest.read(0, manifest.sizeBytes);
  const root = readManifest(await unpack(bytes, { magic: MANIFEST_MAGIC, source: manifest }));
  const left: NodeAt[] = root === null ? [] : [root];
  let entries = 0;
  for (let node = left.pop(); node !== undefined; node = left.pop()) {
    noteFile(index, node.place, wholeNumber(node.offset + node.length, "the end of a piece of its index"));
    const source = await about.open(node.place.path);
    if (source === null || source.sizeBytes < node.offset + node.length) {
      index.isPartial = true;
      continue;
    }
    const reader = await unpack(await source.read(node.offset, node.length), { magic: NODE_MAGIC, source });
    const height = reader.byte();
    if (height !== node.height || height > MOST_HEIGHT) throw malformed("a piece of its index has another height");
    const table = readFileTable(reader, node.place.base);
    const rows = reader.count();
    entries += rows;
    if (entries > MOST_ENTRIES) throw tooMuch(`its index has more than ${MOST_ENTRIES} rows`);
    if (height > 0) left.push(...readInterior(reader, { node, table, rows }));
    else readLeaf(reader, { node, table, rows, index, wanted: about.wanted });
  }
  return index;
}

function noteFile(index: OcdbtIndex, { path }: Place, end: number): void {
  if (index.files.size >= MOST_FILES && !index.files.has(path)) throw tooMuch(`it names more than ${MOST_FILES} files`);
  index.files.set(path, Math.max(end, index.files.get(path) ?? 0));
}

interface Rows {
  node: NodeAt;
  table: readonly Place[];
  rows: number;
}

const placeIn = (table: readonly Place[], row: number | undefined): Place => {
  const place = table[row ?? -1];
  if (place === undefined) throw malformed("its index names a file that is not in its table");
  return place;
};

/** Reads how many bytes each key shares with the previous one, and the length of its rest. */
const readKeyLengths = (reader: Reader, rows: number): { shared: number[]; lengths: number[] } => {
  const shared = [0, ...reader.times(Math.max(0, rows - 1), reader.varint)];
  return { shared, lengths: reader.times(rows, reader.varint) };
};

function readInterior(reader: Reader, { node, table, rows }: Rows): NodeAt[] {
  const about = readKeyLengths(reader, rows);
  const common = reader.times(rows, reader.varint);
  const keys = joinPrefixes(reader, { ...about, most: MOST_KEY_BYTES });
  const [files, offsets, lengths] = [0, 1, 2].map(() => reader.times(rows, reader.varint));
  reader.expand(rows * node.prefix.length);
  return keys.map((key, row) => ({
    place: placeIn(table, files?.[row]),
    offset: offsets?.[row] ?? 0,
    length: lengths?.[row] ?? 0,
    height: node.height - 1,
    prefix: node.prefix + textOf(key.subarray(0, common[row])),
  }));
}

function readLeaf(reader: Reader, about: Rows & { index: OcdbtIndex; wanted(key: string): boolean }): void {
  const { node, table, rows, index, wanted } = about;
  const keys = joinPrefixes(reader, { ...readKeyLengths(reader, rows), most: MOST_KEY_BYTES });
  const lengths = reader.times(rows, reader.varint);
  const isOutside = reader.times(rows, () => reader.varint() !== 0);
  const outside = isOutside.filter(Boolean).length;
  const files = reader.times(outside, reader.varint);
  const offsets = reader.times(outside, reader.varint);
  reader.expand(rows * node.prefix.length);
  let next = 0;
  for (let row = 0; row < rows; row++) {
    const length = lengths[row] ?? 0;
    if (isOutside[row] === true) {
      const end = wholeNumber((offsets[next] ?? 0) + length, "the end of a value in its index");
      noteFile(index, placeIn(table, files[next]), end);
      next++;
      continue;
    }
    const value = reader.take(length);
    const key = node.prefix + textOf(keys[row] ?? new Uint8Array(0));
    if (wanted(key)) index.values.set(key, value);
  }
}
