/**
 * One row of the history that advice reads: a probe, an ended transfer, or a benchmark result. Rates in bytes per second, times
 * in ms.
 */
export interface LinkRow {
  /** Epoch ms. */
  at: number;
  kind: "probe" | "upload" | "download";
  node: number;
  profileId: string;
  /** Empty where it is unknown. */
  nodeRegion: string;
  /** Number of the benchmark that measured it; null for probes and transfers of checkpoints. */
  benchmark: number | null;
  /** Whether the node's own checkpoints go to this bucket; benchmarks use other buckets too. */
  isUsed: boolean;
  outcome: string;
  rttMs: number | null;
  /** Rates without the ramp-up. */
  up: number | null;
  down: number | null;
  /** Rate of a transfer or a benchmark case over its whole time. */
  effective: number | null;
  /** Rates of the first seconds and of the last quarter. */
  burstRate: number | null;
  lateRate: number | null;
  sizeBytes: number | null;
  partBytes: number | null;
  connections: number | null;
}

/** The numbers of a row that has neither rates nor sizes. */
export const NO_NUMBERS = {
  rttMs: null,
  up: null,
  down: null,
  effective: null,
  burstRate: null,
  lateRate: null,
  sizeBytes: null,
  partBytes: null,
  connections: null,
} as const satisfies Partial<LinkRow>;

export type Way = "up" | "down";
export const WAYS = ["up", "down"] as const;

/** Returns the rate of a row in one direction; null where it has none, and for failed or cancelled transfers. */
export function rateOf(row: LinkRow, way: Way): number | null {
  if (row.kind === "probe") return row[way];
  if (row.outcome !== "done" || row.kind !== (way === "up" ? "upload" : "download")) return null;
  return row[way] ?? row.effective;
}

/** Counts the rows that benchmarks measured. */
export const ofBenchmarks = (rows: readonly LinkRow[]): number =>
  rows.filter(({ benchmark }) => benchmark !== null).length;

/** Returns the rows of probes and transfers of checkpoints, without benchmarks. */
export const unasked = (rows: readonly LinkRow[]): LinkRow[] => rows.filter(({ benchmark }) => benchmark === null);

/** Groups rows by link, which is a node and a bucket. */
export const byLink = (rows: readonly LinkRow[]): Map<string, LinkRow[]> =>
  Map.groupBy(rows, ({ node, profileId }) => `${node} ${profileId}`);
