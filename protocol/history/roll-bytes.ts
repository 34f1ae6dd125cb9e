import { addBucket, addValue, createHistogram, valueOf, type Histogram } from "./histogram.ts";
import {
  createReader,
  createWriter,
  readHistogram,
  readVarint,
  writeBytes,
  writeHistogram,
  writeVarint,
  written,
} from "./histogram-bytes.ts";
import { MEASURES, SOURCES, type Measure, type Source } from "./history.ts";

/**
 * Histograms of one period for the nodes of one shelf, in binary form. One record for each series, measure and source:
 * series, kind, failures and length (varints), then the histogram (histogram-bytes.ts). A reader skips records by their
 * length.
 */

/** Returns measure and source as one number. */
export const kindOf = (measure: Measure, source: Source): number =>
  MEASURES.indexOf(measure) * 4 + SOURCES.indexOf(source);
export const measureOf = (kind: number): Measure => MEASURES[kind >> 2] ?? "rtt";
const KINDS = 16;

export interface Cell {
  histogram: Histogram;
  /** Attempts without a value. */
  failures: number;
}

/** By `series * KINDS + kind`. */
export type Cells = Map<number, Cell>;

export const createCell = (): Cell => ({ histogram: createHistogram(), failures: 0 });

export function cellFor(cells: Cells, series: number, kind: number): Cell {
  const key = series * KINDS + kind;
  let cell = cells.get(key);
  if (cell === undefined) cells.set(key, (cell = createCell()));
  return cell;
}

export const seriesOfKey = (key: number): number => Math.floor(key / KINDS);
export const kindOfKey = (key: number): number => key % KINDS;

export function addToCell(cell: Cell, value: number): void {
  addValue(cell.histogram, value);
}

/** Counts a value of which only the bucket is known. */
export function addBucketToCell(cell: Cell, bucket: number): void {
  addBucket(cell.histogram, bucket, 1);
  cell.histogram.sum += valueOf(bucket);
}

export function packRoll(cells: Cells): Uint8Array<ArrayBuffer> {
  const out = createWriter();
  for (const [key, { histogram, failures }] of [...cells].toSorted(([a], [b]) => a - b)) {
    const inner = createWriter();
    writeHistogram(inner, histogram);
    const bytes = written(inner);
    writeVarint(out, seriesOfKey(key));
    writeVarint(out, key % KINDS);
    writeVarint(out, failures);
    writeVarint(out, bytes.length);
    writeBytes(out, bytes);
  }
  return written(out);
}

/** Adds every record for which `target` returns a cell. @throws RangeError when the bytes are malformed */
export function readRoll(body: Uint8Array, target: (series: number, kind: number) => Cell | null): void {
  const reader = createReader(body);
  while (reader.at < body.length) {
    const series = readVarint(reader);
    const kind = readVarint(reader);
    const failures = readVarint(reader);
    const end = readVarint(reader) + reader.at;
    const cell = target(series, kind);
    if (cell !== null) {
      cell.failures += failures;
      readHistogram(reader, end, cell.histogram);
    }
    reader.at = end;
  }
}
