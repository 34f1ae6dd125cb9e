import { INSPECT_LIMITS } from "#protocol/inspect-limits.ts";
import { visibleStart } from "#protocol/visible-text.ts";
import { bytesOf } from "./dtypes.ts";
import { addMetadata, addTensor, elementsOf, type Found, warn } from "./found.ts";
import { isRecord, parseJson } from "./parse-json.ts";
import { type BoundedSource, malformed, tooMuch, wholeNumber } from "./source.ts";

/** The format: 8 bytes of little-endian length, so many bytes of JSON, then the tensors, without gaps. */
export const LENGTH_BYTES = 8;
/** The format allows no longer header. */
const MOST_HEADER_BYTES = 100_000_000;

/**
 * Names, dtypes, shapes and places of all tensors. Held to the rules of the format: offsets that begin at 0, leave no gap
 * and end with the file; sizes that follow from dtype and shape.
 * Faults: MALFORMED, TOO_MUCH_INSIDE, those of the source.
 */
export async function readSafetensors(source: BoundedSource, found: Found): Promise<void> {
  if (source.sizeBytes < LENGTH_BYTES) throw malformed("it is shorter than the length of its own header");
  const start = await source.read(0, LENGTH_BYTES);
  const headerBytes = new DataView(start.buffer, start.byteOffset, LENGTH_BYTES).getBigUint64(0, true);
  if (headerBytes > BigInt(MOST_HEADER_BYTES))
    throw malformed(`its header claims ${headerBytes} bytes; the format allows 100 MB`);
  const header = Number(headerBytes);
  if (header > source.leftBytes)
    throw tooMuch(`its header has ${header} bytes; at most ${INSPECT_LIMITS.readBytes} are read`);
  if (header > source.sizeBytes - LENGTH_BYTES) throw malformed(`it is cut short: its header has ${header} bytes`);
  const parsed = parseJson(await source.read(LENGTH_BYTES, header));
  if (!isRecord(parsed)) throw malformed("its header is no JSON object");
  const dataAt = LENGTH_BYTES + header;
  const spans: { begin: number; end: number }[] = [];
  for (const [name, entry] of Object.entries(parsed)) {
    if (name === "__metadata__") readMetadata(entry, found);
    else spans.push(readTensor(entry, { name, dataAt, found }));
  }
  checkSpans(spans, { found, dataBytes: source.sizeBytes - dataAt });
}

function readMetadata(entry: unknown, found: Found): void {
  if (!isRecord(entry)) throw malformed("its __metadata__ is no JSON object");
  for (const [name, value] of Object.entries(entry)) {
    if (typeof value === "string") addMetadata(found, name, value);
    else warn(found, "a value of the metadata is no text", name);
  }
  if (entry["format"] === "mlx") found.framework = "mlx";
}

function readTensor(
  entry: unknown,
  about: { name: string; dataAt: number; found: Found },
): { begin: number; end: number } {
  const { name, dataAt, found } = about;
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
  const expected = bytesOf(dtype, elementsOf(shape, name));
  if (expected === null) warn(found, `the dtype ${visibleStart(dtype, 32)} is not known`, name);
  else if (expected !== end - begin) {
    throw malformed(`a tensor has ${end - begin} bytes where its dtype and shape make ${expected}`);
  }
  const known = expected === null ? "OPAQUE" : dtype;
  addTensor(found, { name, dtype: known, shape, sizeBytes: end - begin, offset: dataAt + begin });
  return { begin, end };
}

function checkSpans(spans: { begin: number; end: number }[], about: { found: Found; dataBytes: number }): void {
  const { found, dataBytes } = about;
  let reached = 0;
  for (const { begin, end } of spans.toSorted((a, b) => a.begin - b.begin || a.end - b.end)) {
    if (begin < reached) throw malformed("two of its tensors overlap");
    if (begin > reached) warn(found, "there are bytes between its tensors that belong to none");
    reached = end;
  }
  if (reached > dataBytes) throw malformed(`it is cut short: ${reached - dataBytes} bytes of its tensors are missing`);
  if (reached < dataBytes) warn(found, `${dataBytes - reached} bytes behind its last tensor belong to none`);
}
