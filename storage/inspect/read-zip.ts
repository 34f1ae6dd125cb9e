import { inflateRawSync, constants } from "node:zlib";
import { type BoundedSource, type ByteSource, malformed, tooMuch, wholeNumber } from "./source.ts";

/**
 * Reads the directory of a zip file, and first bytes of entries. Source: APPNOTE 4.3 (end of central directory, zip64,
 * central and local headers). Only the first bytes of an entry are ever decompressed.
 */
export interface ZipEntry {
  readonly name: string;
  /** 0: stored; 8: deflated. */
  readonly method: number;
  readonly isEncrypted: boolean;
  readonly crc32: number;
  readonly packedBytes: number;
  readonly sizeBytes: number;
  readonly headerAt: number;
}

const END = 0x06054b50;
const END_BYTES = 22;
const LOCATOR = 0x07064b50;
const LOCATOR_BYTES = 20;
const END_64 = 0x06064b50;
const END_64_BYTES = 56;
const CENTRAL = 0x02014b50;
const CENTRAL_BYTES = 46;
const LOCAL = 0x04034b50;
const LOCAL_BYTES = 30;
const ZIP64_EXTRA = 1;
const IN_ZIP64 = 0xffffffff;
const COUNT_IN_ZIP64 = 0xffff;
const MOST_COMMENT_BYTES = 65_535;
const NEAR_BYTES = 4_096;
const MOST_DIRECTORY_BYTES = 12 * 1024 * 1024;
const MOST_ENTRIES = 110_000;

/** Reads the directory. Rejects with Fault MALFORMED or TOO_MUCH_INSIDE, or Faults of the source. */
export async function readZipDirectory(source: BoundedSource): Promise<ZipEntry[]> {
  const { at: endAt, end } = await findEnd(source);
  let [count, sizeBytes, offset] = [end.getUint16(10, true), end.getUint32(12, true), end.getUint32(16, true)];
  if (count === COUNT_IN_ZIP64 || sizeBytes === IN_ZIP64 || offset === IN_ZIP64) {
    const long = await readEnd64(source, endAt);
    if (long !== null) [count, sizeBytes, offset] = [long.count, long.sizeBytes, long.offset];
  }
  if (count > MOST_ENTRIES) throw tooMuch(`it has ${count} entries`);
  if (sizeBytes > MOST_DIRECTORY_BYTES) throw tooMuch(`its table of contents has ${sizeBytes} bytes`);
  if (offset + sizeBytes > endAt) throw malformed("its table of contents lies behind its own end");
  const bytes = await source.read(offset, sizeBytes);
  return readEntries(Buffer.from(bytes.buffer, bytes.byteOffset, bytes.byteLength), { count, endAt });
}

const viewOf = (bytes: Uint8Array): DataView => new DataView(bytes.buffer, bytes.byteOffset, bytes.byteLength);

async function findEnd(source: BoundedSource): Promise<{ at: number; end: DataView }> {
  if (source.sizeBytes < END_BYTES) throw malformed("it is shorter than the end of a zip file");
  for (const near of [NEAR_BYTES, END_BYTES + MOST_COMMENT_BYTES]) {
    const length = Math.min(near, source.sizeBytes);
    const from = source.sizeBytes - length;
    const view = viewOf(await source.read(from, length));
    for (let at = length - END_BYTES; at >= 0; at--) {
      if (view.getUint32(at, true) !== END) continue;
      // Only a record that ends exactly with the file counts: compressed data may contain the same magic.
      if (at + END_BYTES + view.getUint16(at + 20, true) !== length) continue;
      return { at: from + at, end: new DataView(view.buffer, view.byteOffset + at, END_BYTES) };
    }
    if (length === source.sizeBytes) break;
  }
  throw malformed("it is cut short: a zip file ends with its table of contents, and this one does not");
}

async function readEnd64(
  source: BoundedSource,
  endAt: number,
): Promise<{ count: number; sizeBytes: number; offset: number } | null> {
  if (endAt < LOCATOR_BYTES + END_64_BYTES) return null;
  const locator = viewOf(await source.read(endAt - LOCATOR_BYTES, LOCATOR_BYTES));
  if (locator.getUint32(0, true) !== LOCATOR) return null;
  const at = wholeNumber(locator.getBigUint64(8, true), "the place of the zip64 end");
  const end = viewOf(await source.read(at, END_64_BYTES));
  if (end.getUint32(0, true) !== END_64) throw malformed("its zip64 end is not where it is said to be");
  return {
    count: wholeNumber(end.getBigUint64(32, true), "the number of entries"),
    sizeBytes: wholeNumber(end.getBigUint64(40, true), "the size of the table of contents"),
    offset: wholeNumber(end.getBigUint64(48, true), "the place of the table of contents"),
  };
}

function readEntries(bytes: Buffer, about: { count: number; endAt: number }): ZipEntry[] {
  const entries: ZipEntry[] = [];
  let at = 0;
  while (entries.length < about.count) {
    if (at + CENTRAL_BYTES > bytes.length || bytes.readUInt32LE(at) !== CENTRAL) {
      throw malformed(`its table of contents ends after ${entries.length} of ${about.count} entries`);
    }
    const nameBytes = bytes.readUInt16LE(at + 28);
    const extraBytes = bytes.readUInt16LE(at + 30);
    const next = at + CENTRAL_BYTES + nameBytes + extraBytes + bytes.readUInt16LE(at + 32);
    if (next > bytes.length) throw malformed("an entry reaches past its table of contents");
    const nameEnd = at + CENTRAL_BYTES + nameBytes;
    const long = readZip64(bytes.subarray(nameEnd, nameEnd + extraBytes), {
      sizeBytes: bytes.readUInt32LE(at + 24),
      packedBytes: bytes.readUInt32LE(at + 20),
      headerAt: bytes.readUInt32LE(at + 42),
    });
    if (long.headerAt + long.packedBytes > about.endAt) throw malformed("an entry reaches past the table of contents");
    entries.push({
      name: bytes.toString("utf8", at + CENTRAL_BYTES, nameEnd),
      method: bytes.readUInt16LE(at + 10),
      isEncrypted: (bytes.readUInt16LE(at + 8) & 1) === 1,
      crc32: bytes.readUInt32LE(at + 16),
      ...long,
    });
    at = next;
  }
  return entries;
}

type Sizes = Pick<ZipEntry, "sizeBytes" | "packedBytes" | "headerAt">;

/** Reads the fields that exceed 32 bits, in the order of the specification. */
function readZip64(extra: Buffer, short: Sizes): Sizes {
  const sizes = { ...short };
  for (let at = 0; at + 4 <= extra.length;) {
    const length = extra.readUInt16LE(at + 2);
    if (extra.readUInt16LE(at) === ZIP64_EXTRA) {
      let field = at + 4;
      for (const name of ["sizeBytes", "packedBytes", "headerAt"] as const) {
        if (short[name] !== IN_ZIP64) continue;
        if (field + 8 > Math.min(extra.length, at + 4 + length)) throw malformed("an entry lacks its zip64 sizes");
        sizes[name] = wholeNumber(extra.readBigUInt64LE(field), "the size of an entry");
        field += 8;
      }
      return sizes;
    }
    at += 4 + length;
  }
  return sizes;
}

/** Room for data that writers put between a local header and the content (alignment, zip64 sizes). */
const SPARE_BYTES = 512;
const MOST_UNPACKED_BYTES = 4 * 1024 * 1024;

/**
 * Returns the first bytes of an entry: up to `most` of a stored one, or the decompressed form of the first `most` bytes
 * of a deflated one. Rejects with Fault MALFORMED, also for an encrypted entry or another method, and TOO_MUCH_INSIDE.
 */
export async function readEntryStart(source: BoundedSource, entry: ZipEntry, most: number): Promise<Uint8Array> {
  assertReadable(entry);
  const wanted = Math.min(most, entry.packedBytes);
  const { dataAt, first } = await readLocal(source, entry, wanted);
  const packed =
    dataAt + wanted <= first.length
      ? first.subarray(dataAt, dataAt + wanted)
      : await source.read(entry.headerAt + dataAt, wanted);
  if (entry.method === 0) return packed;
  const unpacked = inflateStart(packed);
  source.expand(unpacked.length);
  return unpacked;
}

/** Returns an entry as a source of its own; null for a deflated one. Rejects as `readEntryStart` does. */
export async function openStoredEntry(source: BoundedSource, entry: ZipEntry): Promise<ByteSource | null> {
  assertReadable(entry);
  if (entry.method !== 0) return null;
  const { dataAt } = await readLocal(source, entry, 0);
  const sizeBytes = entry.packedBytes;
  return {
    sizeBytes,
    read: (offset, length) => {
      if (offset + length > sizeBytes) throw malformed(`${length} bytes at ${offset} lie past the end of an entry`);
      return source.read(entry.headerAt + dataAt + offset, length);
    },
  };
}

function assertReadable(entry: ZipEntry): void {
  if (entry.isEncrypted) throw malformed("an entry is encrypted");
  if (entry.method !== 0 && entry.method !== 8)
    throw malformed(`an entry is packed by method ${entry.method}, which is not read`);
}

/** Reads the local header of an entry, and with the same request up to `wanted` of the bytes after it. */
async function readLocal(
  source: BoundedSource,
  entry: ZipEntry,
  wanted: number,
): Promise<{ dataAt: number; first: Uint8Array }> {
  const nameBytes = Buffer.byteLength(entry.name);
  const guess = Math.min(LOCAL_BYTES + nameBytes + SPARE_BYTES + wanted, source.sizeBytes - entry.headerAt);
  const first = await source.read(entry.headerAt, Math.max(guess, LOCAL_BYTES));
  const view = viewOf(first);
  if (view.getUint32(0, true) !== LOCAL) throw malformed("an entry is not where the table of contents has it");
  return { dataAt: LOCAL_BYTES + view.getUint16(26, true) + view.getUint16(28, true), first };
}

function inflateStart(packed: Uint8Array): Uint8Array {
  try {
    return inflateRawSync(packed, { finishFlush: constants.Z_SYNC_FLUSH, maxOutputLength: MOST_UNPACKED_BYTES });
  } catch (error) {
    if (error instanceof Error && "code" in error && error.code === "ERR_BUFFER_TOO_LARGE")
      throw tooMuch(`an entry unpacks to more than ${MOST_UNPACKED_BYTES} bytes`);
    throw malformed("an entry cannot be unpacked");
  }
}
