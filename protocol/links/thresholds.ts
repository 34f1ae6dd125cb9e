import * as z from "zod";
import { rowVersion } from "../base/bounded.ts";
import { id } from "../base/names.ts";
import { linkThresholds } from "./probe.ts";
import type { GovernorLimits } from "./judge-reallocation.ts";
import type { EarlierGrant, Start } from "./replay-thresholds.ts";

/** What the fleet asks of every link, and the measurements of the past by which people choose it. */

export const MOST_STARTS = 20_000;

/** The newest measurement of each of the last machines, or every measurement of the last days (30 are kept). */
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
  /** Of what was seen before; 0 where nobody has set any. */
  version: rowVersion,
});

/** Each null is not asked for. A node's own flags go before it. */
export interface FleetThresholds {
  up: number | null;
  down: number | null;
  rttMs: number | null;
  version: number;
  /** Null while nobody has set any: nodes go by their own flags alone. */
  setAt: number | null;
  setBy: string | null;
}

/** A measurement: ms after `from`, numbers of node, machine and profile, flags, rates, round trip, clock. */
type StartRow = [
  at: number,
  node: number,
  machine: number,
  profile: number,
  /** 1: rented from a platform, 2: the rate up had settled, 4: the rate down had. */
  flags: number,
  up: number | null,
  down: number | null,
  rttMs: number | null,
  clockSkewMs: number | null,
];

export interface StartsAnswer {
  /** Epoch ms, where `at` of the rows counts from. */
  from: number;
  /** Oldest first. */
  rows: StartRow[];
  /** By their numbers; a name is null once the node is forgotten. */
  nodes: { id: string; name: string | null }[];
  profiles: { id: string; name: string | null }[];
  machines: number;
  /** There were more than fit: only the newest are here. */
  isCut: boolean;
  /** Machines given back before the first row, that were left out then: ms after `from` (below zero). */
  earlier: { at: number; machine: number }[];
  limits: GovernorLimits;
  /** What is asked for at present. */
  now: FleetThresholds;
}

export const FLAG_RENTED = 1;
export const FLAG_UP_STEADY = 2;
export const FLAG_DOWN_STEADY = 4;

/** What `replayStarts` takes. */
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
