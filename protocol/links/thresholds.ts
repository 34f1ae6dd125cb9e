import * as z from "zod";
import { rowVersion } from "../base/bounded.ts";
import { id } from "../base/names.ts";
import { linkThresholds } from "./probe.ts";
import type { ReallocationLimits } from "./judge-reallocation.ts";
import type { EarlierGrant, Start } from "./replay-thresholds.ts";

/** Thresholds that apply to every link of the fleet, and the past measurements by which people choose them. */

export const MOST_STARTS = 20_000;

/** Selects the newest measurement of each of the most recent machines, or every measurement of the last days (30 are kept). */
export const startsInput = z.object({
  over: z.discriminatedUnion("of", [
    z.object({ of: z.literal("nodes"), most: z.number().int().min(1).max(10_000) }),
    z.object({ of: z.literal("days"), days: z.number().int().min(1).max(30) }),
  ]),
  profileId: id.nullable().default(null),
});
export type StartsInput = z.infer<typeof startsInput>;

export const setThresholdsInput = z.object({
  thresholds: linkThresholds,
  /** Version that the page showed; 0 when nobody has set any. */
  version: rowVersion,
});

/** Null: not required. A node's own flags override these. */
export interface FleetThresholds {
  up: number | null;
  down: number | null;
  rttMs: number | null;
  version: number;
  /** Null while nobody has set any; nodes then follow their own flags alone. */
  setAt: number | null;
  setBy: string | null;
}

/** One measurement: ms after `from`, numbers of node, machine and profile, flags, rates, round trip, clock skew. */
type StartRow = [
  at: number,
  node: number,
  machine: number,
  profile: number,
  /** Bits: 1 for a rented machine, 2 for a settled rate up, 4 for a settled rate down. */
  flags: number,
  up: number | null,
  down: number | null,
  rttMs: number | null,
  clockSkewMs: number | null,
];

export interface StartsAnswer {
  /** Epoch ms to which `at` of the rows is relative. */
  from: number;
  /** Oldest first. */
  rows: StartRow[];
  /** Indexed by the numbers in the rows; a name is null once the node is forgotten. */
  nodes: { id: string; name: string | null }[];
  profiles: { id: string; name: string | null }[];
  machines: number;
  /** Whether rows were left out; only the newest are here. */
  isCut: boolean;
  /** Machines that were given back before the first row and still excluded then. `at`: ms relative to `from` (negative). */
  earlier: { at: number; machine: number }[];
  limits: ReallocationLimits;
  /** The present thresholds. */
  now: FleetThresholds;
}

export const FLAG_RENTED = 1;
export const FLAG_UP_STEADY = 2;
export const FLAG_DOWN_STEADY = 4;

/** Converts an answer to the arguments of `replayStarts`. */
export const toReplay = ({
  rows,
  from,
  earlier,
}: Pick<StartsAnswer, "rows" | "from" | "earlier">): { starts: Start[]; earlier: EarlierGrant[] } => ({
  earlier: earlier.map(({ at, machine }) => ({ at: from + at, machine })),
  starts: rows.map(([at, node, machine, profile, flags, up, down, rttMs, clockSkewMs]) => ({
    at: from + at,
    node,
    machine,
    profile,
    isRented: (flags & FLAG_RENTED) !== 0,
    link: {
      up,
      down,
      rttMs,
      clockSkewMs,
      isUpSteady: (flags & FLAG_UP_STEADY) !== 0,
      isDownSteady: (flags & FLAG_DOWN_STEADY) !== 0,
    },
  })),
});
