import { expect, test } from "vitest";
import { NO_BUCKET, packMinute, unpackMinute, type MinuteEntry } from "./minute-bytes.ts";

const entry = (over: Partial<MinuteEntry>): MinuteEntry => ({
  series: 1,
  up: 1_024,
  down: 0,
  atRiskBytes: 4_096,
  lossMs: 60_000,
  rttMs: 12.5,
  upBucket: 300,
  downBucket: NO_BUCKET,
  cpuPercent: 103.4,
  ...over,
});

test("what was packed is unpacked, with what is not known", () => {
  const entries = [entry({}), entry({ series: 70_000, rttMs: null, cpuPercent: null }), entry({ cpuPercent: 0 })];
  expect([...unpackMinute(packMinute(entries))]).toEqual(entries);
  expect([...unpackMinute(packMinute([]))]).toEqual([]);
});

test("a share of many cores that no number holds is the largest that one does, and not unknown", () => {
  expect([...unpackMinute(packMinute([entry({ cpuPercent: 20_000 })]))][0]?.cpuPercent).toBe(6_553.4);
});

test("rows from before the processor was kept are read as they were written", () => {
  const old = (count: number): Uint8Array => {
    const view = new DataView(new ArrayBuffer(count * 28));
    for (let index = 0; index < count; index++) {
      view.setUint32(index * 28, index + 1, true);
      view.setFloat32(index * 28 + 4, 2_048, true);
      view.setFloat32(index * 28 + 20, Number.NaN, true);
      view.setUint16(index * 28 + 24, NO_BUCKET, true);
      view.setUint16(index * 28 + 26, 7, true);
    }
    return new Uint8Array(view.buffer);
  };
  for (const count of [1, 2, 15, 64]) {
    const read = [...unpackMinute(old(count))];
    expect(read).toHaveLength(count);
    expect(read.at(-1)).toMatchObject({ series: count, up: 2_048, rttMs: null, downBucket: 7, cpuPercent: null });
  }
});

test("a row that was cut off gives the entries that are whole", () => {
  const body = packMinute([entry({}), entry({ series: 2 })]);
  expect([...unpackMinute(body.subarray(0, body.length - 2))].map(({ series }) => series)).toEqual([1]);
});
