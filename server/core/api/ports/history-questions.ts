import type { Summary } from "#protocol/history/histogram.ts";
import type { Grouping, Measure, PercentilesInput } from "#protocol/history/history.ts";
import type { Finding, RateSpread } from "#protocol/alerts/advice.ts";

/** What the hub asks of the thread that reads history, and what that answers. The thread changes nothing. */

export interface Scope extends Pick<PercentilesInput, "from" | "to" | "profileId" | "provider" | "region" | "engine"> {
  /** Kinds (protocol/history/roll-bytes.ts) of values that count. */
  kinds: readonly number[];
  /** Numbers of nodes; null: all. */
  nodes: readonly number[] | null;
  kept: Kept;
}

export type Question =
  /** The histograms of everything that happened from one moment to another. */
  | { op: "gather"; from: number; to: number }
  /** Hours from one number to another (exclusive), merged. */
  | { op: "condense"; from: number; to: number }
  | { op: "percentiles"; scope: Scope; by: Grouping }
  | { op: "series"; scope: Scope; by: Grouping; step: "minute" | "hour" | "day" }
  /** What the lines since a moment (epoch ms) say to do, of all nodes or of one. */
  | { op: "advise"; from: number; now: number; node: number | null }
  /** What the nodes of a bucket profile moved since a moment (epoch ms). */
  | { op: "sum-transfers"; profileId: string; since: number };

export interface RolledShelf {
  shelf: number;
  body: Uint8Array<ArrayBuffer>;
}

/** `key`: number of the node, or what the series says; of a direction the measure. */
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
  /** Up to where (exclusive) there are rows of hours and of days. */
  hourThrough: number;
  dayThrough: number;
  /** Hours before this one are not kept any more. */
  oldestHour: number;
}

/**
 * What the transfers of a bucket's nodes moved, added up by the thread that reads history: a large fleet ends fifty thousand of them in
 * a month, and one sum over them holds whoever asks for a tenth of a second.
 */
export interface TransferSums {
  /** Uploads by the day on which they ended, in days since 1970. */
  days: { day: number; bytes: number }[];
  moved: { direction: string; bytes: number }[];
}

/** What the thread that reads history makes of it: only what was found leaves it. */
export interface Advised {
  findings: Finding[];
  up: RateSpread;
  down: RateSpread;
  rows: number;
  benchRows: number;
  oneIn: number;
}
