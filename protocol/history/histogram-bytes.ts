import { addBucket, BUCKETS, type Histogram } from "./histogram.ts";

/**
 * Binary format of a histogram. It begins with the sum (float64, little-endian). For each non-empty bucket follow, in
 * ascending order, the distance to the previous bucket and the count, as varints (LEB128). About 8 + 2 bytes per bucket.
 * Pure.
 */

/** A growing buffer for records that contain histograms. */
export interface ByteWriter {
  bytes: Uint8Array;
  length: number;
}

export const createWriter = (): ByteWriter => ({ bytes: new Uint8Array(256), length: 0 });

function reserve(writer: ByteWriter, more: number): void {
  if (writer.length + more <= writer.bytes.length) return;
  const grown = new Uint8Array(Math.max(writer.bytes.length * 2, writer.length + more));
  grown.set(writer.bytes.subarray(0, writer.length));
  writer.bytes = grown;
}

/** Returns a copy of the written bytes. */
export const written = ({ bytes, length }: ByteWriter): Uint8Array<ArrayBuffer> =>
  Uint8Array.from(bytes.subarray(0, length));

/** Writes a non-negative integer as LEB128. */
export function writeVarint(writer: ByteWriter, value: number): void {
  reserve(writer, 8);
  let rest = value;
  while (rest > 127) {
    writer.bytes[writer.length++] = (rest % 128) | 128;
    rest = Math.floor(rest / 128);
  }
  writer.bytes[writer.length++] = rest;
}

export function writeBytes(writer: ByteWriter, bytes: Uint8Array): void {
  reserve(writer, bytes.length);
  writer.bytes.set(bytes, writer.length);
  writer.length += bytes.length;
}

export function writeHistogram(writer: ByteWriter, { counts, least, most, sum }: Histogram): void {
  reserve(writer, 8);
  new DataView(writer.bytes.buffer).setFloat64(writer.length, sum, true);
  writer.length += 8;
  let before = 0;
  for (let bucket = least; bucket <= most; bucket++) {
    const count = counts[bucket] ?? 0;
    if (count === 0) continue;
    writeVarint(writer, bucket - before);
    writeVarint(writer, count);
    before = bucket;
  }
}

export interface ByteReader {
  readonly bytes: Uint8Array;
  readonly view: DataView;
  at: number;
}

export const createReader = (bytes: Uint8Array): ByteReader => ({
  bytes,
  view: new DataView(bytes.buffer, bytes.byteOffset, bytes.byteLength),
  at: 0,
});

/** Reads a LEB128 number. @throws RangeError when the bytes end within it */
export function readVarint(reader: ByteReader): number {
  let value = 0;
  let scale = 1;
  for (;;) {
    const byte = reader.bytes[reader.at++];
    if (byte === undefined) throw new RangeError("the bytes end within a number");
    value += (byte & 127) * scale;
    if (byte < 128) return value;
    scale *= 128;
  }
}

/** Adds the histogram in the bytes up to `end` to `into`. @throws RangeError when the bytes are no histogram */
export function readHistogram(reader: ByteReader, end: number, into: Histogram): void {
  into.sum += reader.view.getFloat64(reader.at, true);
  reader.at += 8;
  let bucket = 0;
  while (reader.at < end) {
    bucket += readVarint(reader);
    if (bucket >= BUCKETS) throw new RangeError("there is no such bucket");
    addBucket(into, bucket, readVarint(reader));
  }
}
