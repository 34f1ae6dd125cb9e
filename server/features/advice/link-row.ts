/** One line of the history as advice is drawn from it: a probe, a transfer that ended, or what a benchmark found. Rates in bytes per second, times in ms. */
export interface LinkRow {
  /** Epoch ms. */
  at: number;
  kind: "probe" | "upload" | "download";
  node: number;
  profileId: string;
  /** Empty where nobody said. */
  nodeRegion: string;
  /** Which of the benchmarks found it; null: a probe, or a transfer of a checkpoint. */
  benchmark: number | null;
  /** Whether the node's own checkpoints go there: benchmarks go to other buckets too. */
  isUsed: boolean;
  outcome: string;
  rttMs: number | null;
  /** The ramp-up left out. */
  up: number | null;
  down: number | null;
  /** Of a transfer or a case, over the whole time. */
  effective: number | null;
  /** Of the first seconds, and of the last quarter. */
  burstRate: number | null;
  lateRate: number | null;
  sizeBytes: number | null;
  partBytes: number | null;
  connections: number | null;
}

/** A line that says nothing of rates and sizes yet. */
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

/** What a line says of one direction; null when it says nothing. Failed and cancelled ones say nothing. */
export function rateOf(row: LinkRow, way: Way): number | null {
  if (row.kind === "probe") return row[way];
  if (row.outcome !== "done" || row.kind !== (way === "up" ? "upload" : "download")) return null;
  return row[way] ?? row.effective;
}

/** How many of these lines benchmarks found. */
export const ofBenchmarks = (rows: readonly LinkRow[]): number =>
  rows.filter(({ benchmark }) => benchmark !== null).length;

/** What happened by itself: probes and transfers of checkpoints. */
export const unasked = (rows: readonly LinkRow[]): LinkRow[] => rows.filter(({ benchmark }) => benchmark === null);

/** A node and a bucket: a link. */
export const byLink = (rows: readonly LinkRow[]): Map<string, LinkRow[]> =>
  Map.groupBy(rows, ({ node, profileId }) => `${node} ${profileId}`);
