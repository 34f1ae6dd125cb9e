import type { Summary } from "#protocol/history/histogram.ts";
import type { Grouping, Measure, PercentilesInput } from "#protocol/history/history.ts";
import type { Finding, RateSpread } from "#protocol/alerts/advice.ts";

/** Messages between the hub and the thread that reads history. The thread only reads. */

export interface Scope extends Pick<PercentilesInput, "from" | "to" | "profileId" | "provider" | "region" | "engine"> {
  /** Kinds of values (protocol/history/roll-bytes.ts) that count. */
  kinds: readonly number[];
  /** Numbers of the nodes that count; null: all. */
  nodes: readonly number[] | null;
  kept: Kept;
}

export type Question =
  /** Histograms of a range (epoch ms). */
  | { op: "gather"; from: number; to: number }
  /** Hourly rows of a range of hour numbers (end exclusive), merged. */
  | { op: "condense"; from: number; to: number }
  | { op: "percentiles"; scope: Scope; by: Grouping }
  | { op: "series"; scope: Scope; by: Grouping; step: "minute" | "hour" | "day" }
  /** Advice drawn from probes and transfers since `from` (epoch ms), for all nodes or one. */
  | { op: "advise"; from: number; now: number; node: number | null }
  /** Bytes that the nodes of a bucket profile moved since a time (epoch ms). */
  | { op: "sum-transfers"; profileId: string; since: number };

export interface RolledShelf {
  shelf: number;
  body: Uint8Array<ArrayBuffer>;
}

/** `key` is the node's number, the measure for a direction, or else the value of the grouped column. */
export interface GroupRow extends Summary {
  key: string;
  measure: Measure;
  failures: number;
}
export interface PointRow extends GroupRow {
  at: number;
}

export interface Answers {
  gather: RolledShelf[];
  condense: RolledShelf[];
  percentiles: { rows: GroupRow[]; from: number; to: number };
  series: PointRow[];
  advise: Advised;
  "sum-transfers": TransferSums;
}

export type Reply = { id: number; answer: Answers[keyof Answers] } | { id: number; error: string };

export interface Kept {
  /** The ends (exclusive) of the existing hourly and daily rows, as interval numbers. */
  hourThrough: number;
  dayThrough: number;
  /** Hourly rows before this hour are deleted. */
  oldestHour: number;
}

/**
 * Sums over the transfers of a bucket's nodes. A large fleet ends fifty thousand of them a month. Adding them up takes a
 * tenth of a second, so the thread that reads history does it.
 */
export interface TransferSums {
  /** Uploads by the day on which they ended, in days since 1970. */
  days: { day: number; bytes: number }[];
  moved: { direction: string; bytes: number }[];
}

/** Advice as the history thread returns it, without the rows that it read. */
export interface Advised {
  findings: Finding[];
  up: RateSpread;
  down: RateSpread;
  rows: number;
  benchRows: number;
  oneIn: number;
}
