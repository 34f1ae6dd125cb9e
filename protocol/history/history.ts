import * as z from "zod";
import { instant } from "../base/bounded.ts";
import type { Summary } from "./histogram.ts";
import { engineName } from "../wire/measured.ts";
import { id } from "../base/names.ts";
import { provider } from "../base/provider.ts";

/** What links did: the questions people ask of the history, and the answers. Rates are bytes per second, times epoch ms. */

export const MEASURES = ["up", "down", "rtt"] as const;
export type Measure = (typeof MEASURES)[number];
/** Where a value comes from: minutes of a node while it moved something, probes, transfers that ended. */
export const SOURCES = ["live", "probe", "transfer"] as const;
export type Source = (typeof SOURCES)[number];

/** A region is a word of the operator's: us-east, eu, home-lab. Empty: nobody said. */
export const region = z.string().regex(/^[a-z0-9-]{0,32}$/, "a region looks like us-east");

const RANGE = "a range ends after it begins, and is no longer than two years";
const MOST_RANGE_MS = 2 * 366 * 86_400_000;
const inOrder = ({ from, to }: { from: number; to: number }): boolean => to > from && to - from <= MOST_RANGE_MS;

/** Which values count; null: all of them. */
const scope = {
  from: instant,
  to: instant,
  measures: z.array(z.enum(MEASURES)).min(1).max(3),
  /** Null: probes and transfers, of round trips live ones too. */
  sources: z.array(z.enum(SOURCES)).min(1).max(3).nullable(),
  nodeIds: z.array(id).min(1).max(1000).nullable(),
  profileId: id.nullable(),
  provider: provider.nullable(),
  region: region.nullable(),
  engine: engineName.nullable(),
};

export const GROUPINGS = ["all", "node", "region", "provider", "profile", "engine", "direction"] as const;
export type Grouping = (typeof GROUPINGS)[number];

/** The range is widened to whole hours; to whole days where hours are not kept any more. */
export const percentilesInput = z
  .object({ ...scope, by: z.enum(GROUPINGS), limit: z.number().int().min(1).max(30_000) })
  .refine(inOrder, RANGE);
export type PercentilesInput = z.infer<typeof percentilesInput>;

/** What the values of one measure in one group look like. */
export interface PercentileRow extends Summary {
  /** Id of the node or profile, or the region, provider, engine, direction; empty for all. */
  key: string;
  label: string;
  measure: Measure;
  /** Attempts that gave no value, and their share of all attempts (0 to 1). */
  failures: number;
  failureShare: number;
}

export interface Percentiles {
  rows: PercentileRow[];
  /** There are more groups than were asked for. */
  more: boolean;
  /** The range that was looked at. */
  from: number;
  to: number;
}

export const SERIES_GROUPINGS = ["all", "region", "provider", "profile", "engine", "direction"] as const;
/** Minutes exist of live values of all nodes together; hours and days of everything. */
export const seriesInput = z
  .object({ ...scope, by: z.enum(SERIES_GROUPINGS), step: z.enum(["minute", "hour", "day"]) })
  .refine(inOrder, RANGE);
export type SeriesInput = z.infer<typeof seriesInput>;

export interface SeriesPoint extends Summary {
  at: number;
  failures: number;
}
export interface HistorySeriesView {
  key: string;
  label: string;
  measure: Measure;
  /** Oldest first; a stretch without values is left out. */
  points: SeriesPoint[];
}

export const RECORD_KINDS = ["probe", "upload", "download"] as const;
export const listHistoryInput = z
  .object({
    from: instant,
    to: instant,
    nodeId: id.nullable(),
    profileId: id.nullable(),
    region: region.nullable(),
    engine: engineName.nullable(),
    kinds: z.array(z.enum(RECORD_KINDS)).max(3),
    outcome: z.string().max(16).nullable(),
    /** `nextCursor` of the page before. */
    cursor: z
      .string()
      .regex(/^\d{1,16}-\d{1,16}$/)
      .nullable(),
    limit: z.number().int().min(1).max(500),
  })
  .refine(inOrder, RANGE);
export type ListHistoryInput = z.infer<typeof listHistoryInput>;

export interface LinkRecordView {
  id: number;
  at: number;
  kind: (typeof RECORD_KINDS)[number];
  subjectId: string;
  nodeId: string;
  /** Null once the node is forgotten. */
  nodeName: string | null;
  region: string;
  profileId: string;
  profileName: string | null;
  provider: string;
  bucketRegion: string;
  engine: string;
  run: string | null;
  outcome: string;
  fault: string | null;
  rttMs: number | null;
  /** The ramp-up left out. */
  up: number | null;
  down: number | null;
  /** Over the whole time. */
  effective: number | null;
  rampMs: number | null;
  tookMs: number | null;
  isSteady: boolean | null;
  sizeBytes: number | null;
  sentBytes: number | null;
  parts: number | null;
  partBytes: number | null;
  connections: number | null;
  retries: number | null;
}

export const exportHistoryInput = z.discriminatedUnion("what", [
  z.object({ what: z.literal("records"), query: listHistoryInput }),
  z.object({ what: z.literal("percentiles"), query: percentilesInput }),
]);
export interface HistoryExport {
  fileName: string;
  /** CSV as RFC 4180 has it, UTF-8. */
  text: string;
  rows: number;
  /** Not everything fitted: ask for a shorter range. */
  truncated: boolean;
}

/** `*` stands for any text, `?` for one character. A label looks like gpu=a100. */
export const regionRule = z.object({
  kind: z.enum(["name", "label", "machine"]),
  pattern: z.string().trim().min(1, "a rule needs a pattern").max(128),
  region: region.min(1, "a rule needs a region"),
});
export type RegionRule = z.infer<typeof regionRule>;
export const setRegionsInput = z.object({ rules: z.array(regionRule).max(500) });
