/**
 * One minute of a shelf, which is a group of up to 64 nodes that share a row, in binary form. A byte with the value 2, then
 * 30 bytes for each node that reported in that minute, little-endian. First series (uint32), rates up and down, bytes at
 * risk, training time at risk in ms, round trip in ms (float32 each, NaN: unknown). Then the histogram buckets
 * (histogram.ts, uint16) of the rates up and down while data moved. Last the worker's CPU use in tenths of a percent of one
 * core (uint16, 65535: unknown). A bucket is a histogram of one value, so the hour of a node is the merger of its minutes.
 * Older rows have no first byte and 28 bytes per node, without CPU use: their length is even.
 */
export interface MinuteEntry {
  series: number;
  up: number;
  down: number;
  atRiskBytes: number;
  lossMs: number;
  rttMs: number | null;
  /** `NO_BUCKET` when nothing moved in that direction. */
  upBucket: number;
  downBucket: number;
  /** Percent of one core; null in older rows. */
  cpuPercent: number | null;
}

export const NO_BUCKET = 0xffff;
const FORMAT = 2;
const ENTRY_BYTES = 30;
const OLD_ENTRY_BYTES = 28;
const NO_CPU = 0xffff;

export function packMinute(entries: readonly MinuteEntry[]): Uint8Array<ArrayBuffer> {
  const bytes = new Uint8Array(1 + entries.length * ENTRY_BYTES);
  bytes[0] = FORMAT;
  const view = new DataView(bytes.buffer);
  for (const [index, entry] of entries.entries()) {
    const at = 1 + index * ENTRY_BYTES;
    view.setUint32(at, entry.series, true);
    view.setFloat32(at + 4, entry.up, true);
    view.setFloat32(at + 8, entry.down, true);
    view.setFloat32(at + 12, entry.atRiskBytes, true);
    view.setFloat32(at + 16, entry.lossMs, true);
    view.setFloat32(at + 20, entry.rttMs ?? Number.NaN, true);
    view.setUint16(at + 24, entry.upBucket, true);
    view.setUint16(at + 26, entry.downBucket, true);
    const tenths = entry.cpuPercent === null ? NO_CPU : Math.min(NO_CPU - 1, Math.round(entry.cpuPercent * 10));
    view.setUint16(at + 28, tenths, true);
  }
  return bytes;
}

/** Yields the entries of a minute. Ignores an incomplete last entry. */
export function* unpackMinute(body: Uint8Array | ArrayBuffer): Generator<MinuteEntry> {
  const view =
    body instanceof Uint8Array ? new DataView(body.buffer, body.byteOffset, body.byteLength) : new DataView(body);
  const isOld = view.byteLength % 2 === 0;
  const entryBytes = isOld ? OLD_ENTRY_BYTES : ENTRY_BYTES;
  for (let at = isOld ? 0 : 1; at + entryBytes <= view.byteLength; at += entryBytes) {
    const tenths = isOld ? NO_CPU : view.getUint16(at + 28, true);
    const rttMs = view.getFloat32(at + 20, true);
    yield {
      series: view.getUint32(at, true),
      up: view.getFloat32(at + 4, true),
      down: view.getFloat32(at + 8, true),
      atRiskBytes: view.getFloat32(at + 12, true),
      lossMs: view.getFloat32(at + 16, true),
      rttMs: Number.isNaN(rttMs) ? null : rttMs,
      upBucket: view.getUint16(at + 24, true),
      downBucket: view.getUint16(at + 26, true),
      cpuPercent: tenths === NO_CPU ? null : tenths / 10,
    };
  }
}
