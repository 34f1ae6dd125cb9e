import { ggmlTypeOf } from "./dtypes.ts";
import { addMetadata, addTensor, elementsOf, type Found, warn } from "./found.ts";
import { type BoundedSource, createCursor, type Cursor, malformed, tooMuch, wholeNumber } from "./source.ts";

/**
 * Reads GGUF versions 2 and 3 in either byte order: magic, version, counts, key-value pairs, tensor infos, padding, data.
 * Source: the format's description in ggml. Arrays are counted; most elements of a fixed size are skipped.
 */
export const GGUF_MAGIC = "GGUF";
/** Bytes of magic and version, in every version. */
const VERSION_END = 8;
/** Bytes up to the first pair, in versions 2 and 3. The header of version 1 is shorter. */
const HEADER_BYTES = 24;
const SHORT = "it is shorter than the header of a GGUF file";

const ARRAY = 9;
const STRING = 8;
/** Bytes of a fixed-size value, by type id. */
const FIXED: ReadonlyMap<number, number> = new Map([
  [0, 1],
  [1, 1],
  [2, 2],
  [3, 2],
  [4, 4],
  [5, 4],
  [6, 4],
  [7, 1],
  [10, 8],
  [11, 8],
  [12, 8],
]);
const MOST_DEPTH = 4;
const MOST_PAIRS = 65_536;
const MOST_STRING_BYTES = 4 * 1024 * 1024;
const MOST_DIMENSIONS = 8;
const DEFAULT_ALIGNMENT = 32;
const SHOWN_ITEMS = 8;

interface Reading {
  cursor: Cursor;
  isLittle: boolean;
  found: Found;
}

/** Reads the header. Rejects with Fault MALFORMED or TOO_MUCH_INSIDE, or Faults of the source. */
export async function readGguf(source: BoundedSource, found: Found): Promise<void> {
  if (source.sizeBytes < VERSION_END) throw malformed(SHORT);
  const cursor = createCursor(source, 0);
  if (Buffer.from(await cursor.take(GGUF_MAGIC.length)).toString("latin1") !== GGUF_MAGIC) {
    throw malformed("it does not begin as a GGUF file does");
  }
  const raw = viewOf(await cursor.take(4));
  const isLittle = raw.getUint32(0, true) <= 0xffff;
  const version = raw.getUint32(0, isLittle);
  if (version !== 2 && version !== 3) throw malformed(`it is of GGUF version ${version}; 2 and 3 are read`);
  if (source.sizeBytes < HEADER_BYTES) throw malformed(SHORT);
  const reading: Reading = { cursor, isLittle, found };
  const tensorCount = await readCount(reading);
  const pairCount = await readCount(reading);
  if (pairCount > MOST_PAIRS) throw tooMuch(`it has ${pairCount} pairs of metadata`);
  let alignment = DEFAULT_ALIGNMENT;
  for (let pair = 0; pair < pairCount; pair++) {
    const name = await readString(reading);
    const value = await readValue(reading, await readU32(reading), 0);
    if (name === "general.alignment") alignment = Number(value);
    addMetadata(found, name, value);
  }
  if (!Number.isInteger(alignment) || alignment < 1 || alignment > 1 << 20)
    throw malformed("its alignment is no number of bytes");
  const tensors: Parameters<typeof addTensor>[1][] = [];
  for (let tensor = 0; tensor < tensorCount; tensor++) tensors.push(await readTensor(reading, tensors.length));
  const dataAt = Math.ceil(cursor.at / alignment) * alignment;
  let reached = tensors.length === 0 ? 0 : dataAt;
  for (const tensor of tensors) {
    const offset = dataAt + (tensor.offset ?? 0);
    if ((tensor.offset ?? 0) % alignment !== 0)
      warn(found, "a tensor does not lie where the alignment wants it", tensor.name);
    reached = Math.max(reached, wholeNumber(offset + tensor.sizeBytes, "the end of a tensor"));
    addTensor(found, { ...tensor, offset });
  }
  if (reached > source.sizeBytes)
    throw malformed(`it is cut short: ${reached - source.sizeBytes} bytes of its tensors are missing`);
}

const viewOf = (bytes: Uint8Array): DataView => new DataView(bytes.buffer, bytes.byteOffset, bytes.byteLength);

async function readU32({ cursor, isLittle }: Reading): Promise<number> {
  return viewOf(await cursor.take(4)).getUint32(0, isLittle);
}

async function readCount({ cursor, isLittle }: Reading): Promise<number> {
  return wholeNumber(viewOf(await cursor.take(8)).getBigUint64(0, isLittle), "a count");
}

async function readString(reading: Reading): Promise<string> {
  const length = await readCount(reading);
  if (length > MOST_STRING_BYTES) throw tooMuch(`it has a text of ${length} bytes`);
  return new TextDecoder().decode(await reading.cursor.take(length));
}

/** Returns a value as text; an array as its length and first elements. */
async function readValue(reading: Reading, type: number, depth: number): Promise<string> {
  const { cursor } = reading;
  if (type === STRING) return readString(reading);
  if (type === ARRAY) return readArray(reading, depth + 1);
  const size = FIXED.get(type);
  if (size === undefined) throw malformed(`a value has the type ${type}, which there is not`);
  return scalarText(viewOf(await cursor.take(size)), { type, isLittle: reading.isLittle });
}

async function readArray(reading: Reading, depth: number): Promise<string> {
  if (depth > MOST_DEPTH) throw malformed("its arrays lie too deep in each other");
  const type = await readU32(reading);
  const count = await readCount(reading);
  const size = FIXED.get(type);
  const shown: string[] = [];
  if (size === undefined) {
    if (type !== STRING && type !== ARRAY) throw malformed(`an array has the type ${type}, which there is not`);
    // Elements of variable size must be read one by one; the read limit bounds this loop.
    for (let item = 0; item < count; item++) {
      const value = type === STRING ? await readString(reading) : await readArray(reading, depth + 1);
      if (shown.length < SHOWN_ITEMS) shown.push(value.slice(0, 64));
    }
  } else {
    for (let item = 0; item < Math.min(count, SHOWN_ITEMS); item++) shown.push(await readValue(reading, type, depth));
    reading.cursor.skip(wholeNumber((count - shown.length) * size, "the length of an array"));
  }
  return `${count} × [${shown.join(", ")}${count > shown.length ? ", …" : ""}]`;
}

function scalarText(view: DataView, about: { type: number; isLittle: boolean }): string {
  const { type, isLittle } = about;
  switch (type) {
    case 0:
      return String(view.getUint8(0));
    case 1:
      return String(view.getInt8(0));
    case 2:
      return String(view.getUint16(0, isLittle));
    case 3:
      return String(view.getInt16(0, isLittle));
    case 4:
      return String(view.getUint32(0, isLittle));
    case 5:
      return String(view.getInt32(0, isLittle));
    case 6:
      return String(view.getFloat32(0, isLittle));
    case 7:
      return view.getUint8(0) === 0 ? "false" : "true";
    case 10:
      return String(view.getBigUint64(0, isLittle));
    case 11:
      return String(view.getBigInt64(0, isLittle));
    default:
      return String(view.getFloat64(0, isLittle));
  }
}

/** Reads one tensor info. Its offset is relative to the start of the data. */
async function readTensor(reading: Reading, count: number): Promise<Parameters<typeof addTensor>[1]> {
  if (count >= 100_000) throw tooMuch("it has more than 100000 tensors");
  const name = await readString(reading);
  const dimensions = await readU32(reading);
  if (dimensions > MOST_DIMENSIONS) throw malformed(`a tensor has ${dimensions} dimensions`);
  const lengths: number[] = [];
  for (let dimension = 0; dimension < dimensions; dimension++) lengths.push(await readCount(reading));
  const typeId = await readU32(reading);
  const offset = await readCount(reading);
  const elements = elementsOf(lengths, name);
  const type = ggmlTypeOf(typeId);
  // The file lists the fastest-varying dimension first.
  const shape = lengths.toReversed();
  if (type === null) {
    warn(reading.found, `the type ${typeId} is not known`, name);
    return { name, dtype: "OPAQUE", shape, sizeBytes: 0, offset };
  }
  if ((lengths[0] ?? 1) % type.elements !== 0) throw malformed(`a row of ${type.name} is not made of whole blocks`);
  const sizeBytes = wholeNumber((elements / type.elements) * type.sizeBytes, "the size of a tensor");
  return { name, dtype: type.name, shape, sizeBytes, offset };
}
