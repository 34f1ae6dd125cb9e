import * as z from "zod";
import { instant } from "../base/bounded.ts";
import type { Summary } from "./histogram.ts";
import { engineName } from "../wire/measured.ts";
import { id } from "../base/names.ts";
import { provider } from "../base/provider.ts";

/** History of links: the queries and their answers. Rates are bytes per second, times epoch ms. */

export const MEASURES = ["up", "down", "rtt"] as const;
export type Measure = (typeof MEASURES)[number];
/** Origin of a value: `live`: a minute in which a node moved data; `probe`: a measurement; `transfer`: a finished transfer. */
export const SOURCES = ["live", "probe", "transfer"] as const;
export type Source = (typeof SOURCES)[number];

/** A region as the operator names it: us-east, eu, home-lab. Empty: unknown. */
export const region = z.string().regex(/^[a-z0-9-]{0,32}$/, "a region looks like us-east");

const RANGE = "a range ends after it begins, and is no longer than two years";
const MOST_RANGE_MS = 2 * 366 * 86_400_000;
const inOrder = ({ from, to }: { from: number; to: number }): boolean => to > from && to - from <= MOST_RANGE_MS;

/** Filters; null matches all values. */
const scope = {
  from: instant,
  to: instant,
  measures: z.array(z.enum(MEASURES)).min(1).max(3),
  /** Null: probes and transfers; for round trips also live values. */
  sources: z.array(z.enum(SOURCES)).min(1).max(3).nullable(),
  nodeIds: z.array(id).min(1).max(1000).nullable(),
  profileId: id.nullable(),
  provider: provider.nullable(),
  region: region.nullable(),
  engine: engineName.nullable(),
};

export const GROUPINGS = ["all", "node", "region", "provider", "profile", "engine", "direction"] as const;
export type Grouping = (typeof GROUPINGS)[number];

/** The range is widened to whole hours, or to whole days when hours are no longer kept. */
export const percentilesInput = z
  .object({ ...scope, by: z.enum(GROUPINGS), limit: z.number().int().min(1).max(30_000) })
  .refine(inOrder, RANGE);
export type PercentilesInput = z.infer<typeof percentilesInput>;

/** Distribution of one measure in one group. */
export interface PercentileRow extends Summary {
  /** Id of the node or profile, or the region, provider, engine or direction; empty for `all`. */
  key: string;
  label: string;
  measure: Measure;
  /** Attempts without a value, and their share of all attempts (0 to 1). */
  failures: number;
  failureShare: number;
}

export interface Percentiles {
  rows: PercentileRow[];
  /** Whether there are more groups than `limit`. */
  more: boolean;
  /** The range that was read. */
  from: number;
  to: number;
}

export const SERIES_GROUPINGS = ["all", "region", "provider", "profile", "engine", "direction"] as const;
/** Minutes exist only for live values of all nodes together; hours and days exist for everything. */
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
  /** Oldest first; periods without values are left out. */
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
    /** `nextCursor` of the previous page. */
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
  /** Rates without the ramp-up. */
  up: number | null;
  down: number | null;
  /** Rate over the whole time. */
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
  /** CSV by RFC 4180, UTF-8. */
  text: string;
  rows: number;
  /** Whether rows were left out; a shorter range gives all of them. */
  truncated: boolean;
}

/** Assigns a region to nodes. `*` matches any text, `?` one character. A label looks like gpu=a100. */
export const regionRule = z.object({
  kind: z.enum(["name", "label", "machine"]),
  pattern: z.string().trim().min(1, "a rule needs a pattern").max(128),
  region: region.min(1, "a rule needs a region"),
});
export type RegionRule = z.infer<typeof regionRule>;
export const setRegionsInput = z.object({ rules: z.array(regionRule).max(500) });
