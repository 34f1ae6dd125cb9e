/**
 * The minute of one shelf as bytes: 28 for each node that was heard in it, little-endian: series (uint32), rates up and down,
 * bytes at risk, training time at risk in ms, round trip in ms (float32 each, NaN: unknown), then the buckets
 * (protocol/histogram.ts, uint16) of the rates up and down while something moved. A bucket is a histogram of one value, so the
 * hour of a node is the merger of its minutes.
 */
export interface MinuteEntry {
  series: number;
  up: number;
  down: number;
  atRiskBytes: number;
  lossMs: number;
  rttMs: number | null;
  /** `NO_BUCKET` when nothing moved that way. */
  upBucket: number;
  downBucket: number;
}

export const NO_BUCKET = 0xffff;
const ENTRY_BYTES = 28;

export function packMinute(entries: readonly MinuteEntry[]): Uint8Array<ArrayBuffer> {
  const bytes = new Uint8Array(entries.length * ENTRY_BYTES);
  const view = new DataView(bytes.buffer);
  for (const [index, entry] of entries.entries()) {
    const at = index * ENTRY_BYTES;
    view.setUint32(at, entry.series, true);
    view.setFloat32(at + 4, entry.up, true);
    view.setFloat32(at + 8, entry.down, true);
    view.setFloat32(at + 12, entry.atRiskBytes, true);
    view.setFloat32(at + 16, entry.lossMs, true);
    view.setFloat32(at + 20, entry.rttMs ?? Number.NaN, true);
    view.setUint16(at + 24, entry.upBucket, true);
    view.setUint16(at + 26, entry.downBucket, true);
  }
  return bytes;
}

/** What ends within an entry is left out. */
export function* unpackMinute(body: Uint8Array | ArrayBuffer): Generator<MinuteEntry> {
  const view =
    body instanceof Uint8Array ? new DataView(body.buffer, body.byteOffset, body.byteLength) : new DataView(body);
  for (let at = 0; at + ENTRY_BYTES <= view.byteLength; at += ENTRY_BYTES) {
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
    };
  }
}
