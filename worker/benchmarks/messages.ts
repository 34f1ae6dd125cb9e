import { ENGINES, type BenchDirection } from "#protocol/benchmarks/engines.ts";
import type { BenchSummary, EngineSummary, Spread } from "#protocol/benchmarks/summarize.ts";
import { formatBytes, formatRate } from "#protocol/base/units.ts";
import { sentenceOf } from "#protocol/faults/fault.ts";
import type { BenchCaseEnd } from "#protocol/benchmarks/turn.ts";

/** Formats the results as the tables of the benchmark guide, for a terminal. */

const WAYS: readonly BenchDirection[] = ["up", "down"];
const rate = (value: number | null | undefined): string => (value == null ? "-" : formatRate(value));
const share = (value: number | null): string => (value === null ? "-" : `${(value * 100).toFixed(1)} %`);

/** Returns the line that is printed when a case ends. */
export function caseLines(end: BenchCaseEnd, at: { index: number; of: number }): string[] {
  const memory = end.peakBytes === null ? "" : `, ${formatBytes(end.peakBytes)} of memory`;
  const count = `${String(at.index + 1).padStart(String(at.of).length)}/${at.of}`;
  const what = `${count}  ${ENGINES[end.engine].title}, ${end.direction}`;
  if (end.fault !== null) return [`${what}: failed. ${sentenceOf(end.fault)}`, ...lastWords(end.log)];
  return [`${what}: ${rate(end.bytesPerSecond)} in ${(end.tookMs / 1000).toFixed(1)} s${memory}`];
}

function lastWords(log: string): string[] {
  const line = log.split("\n").findLast((one) => one.trim() !== "");
  return line === undefined ? [] : [`       ${line.trim().slice(0, 300)}`];
}

/** Returns the tables, and how they were measured. */
export function benchTables(
  summary: BenchSummary,
  about: {
    ends: readonly BenchCaseEnd[];
    rounds: number;
    seed: number;
    sizeBytes: number;
    partBytes: number;
    connections: number;
  },
): string[] {
  const { rounds, sizeBytes, partBytes, connections, seed } = about;
  const maxima = WAYS.flatMap((way) => {
    const row = summary.maxima[way];
    return row === null ? [] : [[`Maximum ${way}`, ...spreadCells(row)]];
  });
  const engines = [...new Set(summary.engines.map(({ engine }) => engine))].map((engine) => {
    const cells = WAYS.flatMap((way) => {
      const found = summary.engines.find((one) => one.engine === engine && one.direction === way);
      return found === undefined ? ["-", "-", "-"] : engineCells(found);
    });
    const peaks = about.ends.flatMap((end) => (end.engine === engine && end.peakBytes !== null ? [end.peakBytes] : []));
    return [ENGINES[engine].title, ...cells, peaks.length === 0 ? "-" : formatBytes(Math.max(...peaks))];
  });
  const head = ["Engine", "mean up", "best up", "failed", "mean down", "best down", "failed", "memory"];
  const turns = rounds === 1 ? "one round" : `${rounds} rounds`;
  return [
    ...table([["Throughput", "mean", "P10", "P50", "P90"], ...maxima]),
    "",
    ...table([head, ...engines]),
    "",
    `${formatBytes(sizeBytes)} of random bytes, parts of ${formatBytes(partBytes)}, ${connections} at a time, ${turns}, order of seed ${seed}.`,
    "A rate is the payload by the time it took: of a command from its start, of a library (Tidemark, AWS SDK, boto3, CRT)",
    "from when it was loaded, until the process had ended. What failed has none. The maximum is the best engine of each",
    "round. Every download was compared by SHA-256, every upload by its length. Nothing was tried again by us.",
  ];
}

const spreadCells = ({ mean, p10, p50, p90 }: Spread): string[] => [mean, p10, p50, p90].map(rate);
const engineCells = (row: EngineSummary): string[] => [
  rate(row.meanBytesPerSecond),
  share(row.bestShare),
  row.failed === 0 ? "0" : `${row.failed} of ${row.cases}`,
];

function table(rows: readonly (readonly string[])[]): string[] {
  const widths = (rows[0] ?? []).map((_, column) => Math.max(...rows.map((row) => row[column]?.length ?? 0)));
  return rows.map((row) =>
    row
      .map((cell, column) => (column === 0 ? cell.padEnd(widths[0] ?? 0) : cell.padStart(widths[column] ?? 0)))
      .join("  ")
      .trimEnd(),
  );
}
