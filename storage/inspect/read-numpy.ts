import { bytesOf, dtypeOfNumpy } from "./dtypes.ts";
import { addTensor, elementsOf, type Found, warn } from "./found.ts";
import { readEntryStart, type ZipEntry } from "./read-zip.ts";
import { type BoundedSource, malformed, tooMuch, wholeNumber } from "./source.ts";

/**
 * Reads `.npy` (magic, version, header length, and a Python dictionary as text with `descr`, `fortran_order` and `shape`)
 * and `.npz` (a zip file of them). Source: numpy's format NEP 1. The dictionary is parsed with regular expressions, never
 * evaluated.
 */
export const NPY_MAGIC = Buffer.from("\x93NUMPY", "latin1");
const MOST_HEADER_BYTES = 1024 * 1024;
const NEAR_BYTES = 1_024;
/** Limit of arrays, because each costs a request. */
const MOST_ARRAYS = 500;

interface ArrayHeader {
  dtype: string;
  shape: number[];
  /** Offset of the first element. */
  dataAt: number;
}

/** Reads an `.npy` file. Rejects with Fault MALFORMED or TOO_MUCH_INSIDE, or Faults of the source. */
export async function readNpy(source: BoundedSource, found: Found): Promise<void> {
  const start = await source.read(0, Math.min(NEAR_BYTES, source.sizeBytes));
  const needed = headerEnd(start);
  const header = readHeader(
    needed <= start.length ? start : await source.read(0, Math.min(needed, source.sizeBytes)),
    needed,
  );
  addArray(found, { name: "", header, sizeBytes: source.sizeBytes, offset: header.dataAt, crc32: null });
}

/** Reads the arrays of an `.npz` file. Rejects as `readNpy` does. */
export async function readNpz(
  source: BoundedSource,
  about: { entries: readonly ZipEntry[]; found: Found },
): Promise<void> {
  const { found } = about;
  const arrays = about.entries.filter(({ name }) => name.endsWith(".npy"));
  if (arrays.length < about.entries.length) warn(found, "there are files in it that are no arrays");
  if (arrays.length > MOST_ARRAYS)
    warn(found, `only the first ${MOST_ARRAYS} of its ${arrays.length} arrays were looked at`);
  for (const entry of arrays.slice(0, MOST_ARRAYS)) {
    const start = await readEntryStart(source, entry, NEAR_BYTES);
    const needed = headerEnd(start);
    const bytes = needed <= start.length ? start : await readEntryStart(source, entry, needed);
    const header = readHeader(bytes, needed);
    const name = entry.name.slice(0, -".npy".length);
    const crc32 = entry.crc32.toString(16).padStart(8, "0");
    addArray(found, { name, header, sizeBytes: entry.sizeBytes, offset: null, crc32 });
  }
}

function addArray(
  found: Found,
  about: { name: string; header: ArrayHeader; sizeBytes: number; offset: number | null; crc32: string | null },
): void {
  const { name, header, sizeBytes, offset, crc32 } = about;
  const { dtype, shape, dataAt } = header;
  const there = sizeBytes - dataAt;
  const expected = bytesOf(dtype, elementsOf(shape, name));
  if (expected === null) warn(found, "the elements are records, text or Python objects, which are not read", name);
  else if (there < expected) throw malformed(`it is cut short: ${expected - there} bytes of an array are missing`);
  else if (there > expected) warn(found, `${there - expected} bytes behind its array belong to nothing`, name);
  addTensor(found, { name, dtype, shape, sizeBytes: expected ?? there, offset, crc32 });
}

function headerEnd(start: Uint8Array): number {
  const bytes = Buffer.from(start.buffer, start.byteOffset, start.byteLength);
  if (bytes.length < 12 || !bytes.subarray(0, NPY_MAGIC.length).equals(NPY_MAGIC))
    throw malformed("it does not begin as a numpy array does");
  const version = bytes.readUInt8(6);
  if (version < 1 || version > 3) throw malformed(`it is of version ${version} of the numpy format; 1 to 3 are read`);
  const end = version === 1 ? 10 + bytes.readUInt16LE(8) : 12 + bytes.readUInt32LE(8);
  if (end > MOST_HEADER_BYTES) throw tooMuch(`its header has ${end} bytes`);
  return end;
}

/** Parses a length as Python 3 writes it (`2`), as Python 2 did (`2L`), or as a numpy scalar (`np.int64(2)`). */
const dimensionOf = (written: string): number => Number(/^(?:np\.\w+\()?(\d+)\)?L?$/.exec(written)?.[1] ?? Number.NaN);

function readHeader(bytes: Uint8Array, end: number): ArrayHeader {
  if (bytes.length < end) throw malformed("it is cut short in the middle of its header");
  const from = bytes[6] === 1 ? 10 : 12;
  const text = Buffer.from(bytes.buffer, bytes.byteOffset, bytes.byteLength).toString("latin1", from, end);
  const descr = /['"]descr['"]: ?(?:['"]([^'"]{1,64})['"]|[[(])/.exec(text);
  const order = /['"]fortran_order['"]: ?(True|False)/.exec(text)?.[1];
  const shape = /['"]shape['"]: ?\(((?:[\dL, ]|np\.u?int[0-9p]{0,2}\(\d{1,20}\)){0,2048})\)/.exec(text)?.[1];
  if (!text.startsWith("{") || descr === null || order === undefined || shape === undefined) {
    throw malformed("its header does not say type, order and shape");
  }
  const lengths = shape
    .split(",")
    .map((digits) => digits.trim())
    .filter((digits) => digits !== "")
    .map((written) => wholeNumber(dimensionOf(written), "a dimension"));
  const dtype = descr[1] === undefined ? null : dtypeOfNumpy(descr[1]);
  return { dtype: dtype ?? "OPAQUE", shape: lengths, dataAt: end };
}
