import { isEngine, type BenchDirection, type EngineName } from "#protocol/benchmarks/engines.ts";
import { BenchError } from "../bench-error.ts";

/** Parses the exported CSV of a benchmark independently of the product's code; the checks of `links` use it. */

export interface ExportedCase {
  /** When the node reported it, epoch ms by the hub's clock. */
  atMs: number;
  node: string;
  nodeRegion: string;
  store: string;
  storeRegion: string;
  rttMs: number | null;
  engine: EngineName;
  direction: BenchDirection;
  tookMs: number;
  loadMs: number | null;
  /** Null: the case failed. */
  bytesPerSecond: number | null;
  fault: string | null;
}

/** Parses the export. @throws BenchError when a row does not match the header */
export function readExport(text: string): ExportedCase[] {
  const [head = [], ...rows] = text
    .replace(/^\ufeff/, "")
    .trim()
    .split(/\r?\n/)
    .map((line) => line.split(","));
  return rows.map((cells, index) => {
    const cell = (name: string): string => {
      const value = cells[head.indexOf(name)];
      if (value === undefined) throw new BenchError(`Row ${index + 1} of the export has no "${name}".`);
      return value;
    };
    const number = (name: string): number | null => (cell(name) === "" ? null : Number(cell(name)));
    const [engine, direction] = [cell("engine"), cell("direction")];
    if (!isEngine(engine) || (direction !== "up" && direction !== "down"))
      throw new BenchError(`Row ${index + 1} of the export names the engine "${engine}", ${direction}.`);
    return {
      atMs: Date.parse(cell("at")),
      node: cell("node"),
      nodeRegion: cell("node_region"),
      store: cell("profile"),
      storeRegion: cell("bucket_region"),
      rttMs: number("rtt_ms"),
      engine,
      direction,
      tookMs: number("took_ms") ?? 0,
      loadMs: number("load_ms"),
      bytesPerSecond: number("bytes_per_second"),
      fault: cell("fault") === "" ? null : cell("fault"),
    };
  });
}
