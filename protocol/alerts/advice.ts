import * as z from "zod";
import type { AdviceKind } from "./advice-kinds.ts";
import { id } from "../base/names.ts";

/** Advice drawn from the stored history of links, each piece with its evidence. Rates are bytes per second, times ms. */

/** A number that is evidence for the advice, and the unit it is shown in. */
export interface AdviceFact {
  label: string;
  value: number;
  as: "rate" | "duration" | "bytes" | "times" | "share" | "count";
}

/**
 * A finding of one rule. `Node` is the type of a node's id: a number in the history, a text for pages. `node` is null when
 * the finding concerns several nodes.
 */
export interface Finding<Node = number> {
  kind: AdviceKind;
  node: Node | null;
  profileId: string | null;
  /** Region of the nodes; null when the finding concerns one node. */
  region: string | null;
  way: "up" | "down" | null;
  run: string | null;
  /** Profile of the bucket that would be better. */
  betterId: string | null;
  facts: AdviceFact[];
  /** Number of values that support the finding, and the smallest number for which the rule reports anything. */
  samples: number;
  least: number;
  /** How many of the values come from benchmarks. */
  ofBenchmarks: number;
  /** Number of nodes that the values come from. */
  nodes: number;
  /** The better value of the setting. */
  better: { partBytes: number } | { connections: number } | null;
}

export interface Dismissal {
  reason: string;
  at: number;
  by: string;
  /** Null: without end. */
  until: number | null;
}

export interface Advice extends Finding<string> {
  /** Stays the same as long as the advice concerns the same subject. */
  key: string;
  nodeName: string | null;
  profileName: string | null;
  betterName: string | null;
  dismissal: Dismissal | null;
}

/** Rates of nodes, slowest first, at most 101 of them; empty with fewer than `least` nodes. */
export interface RateSpread {
  rates: number[];
  nodes: number;
  samples: number;
  /** How many of the samples come from benchmarks. */
  ofBenchmarks: number;
  least: number;
}

export interface AdviceAnswer {
  advice: Advice[];
  up: RateSpread;
  down: RateSpread;
  /** Measurements and transfers that were read, from the last `days` days; one in `oneIn` when there are too many. */
  rows: number;
  /** Cases and round trips of benchmarks that were read as well. */
  benchRows: number;
  days: number;
  oneIn: number;
  at: number;
}

/** Null: advice about all nodes. */
export const listAdviceInput = z.object({ nodeId: id.nullable().default(null) });

const key = z.string().min(1).max(512);
export const dismissInput = z.object({
  key,
  reason: z.string().trim().min(1, "say why, for whoever comes after you").max(256),
  /** Null: without end. */
  forDays: z.number().int().min(1).max(365).nullable(),
});
export const bringAdviceBackInput = z.object({ key });
/** Makes the advised value the setting that nodes of the profile use from now on. */
export const takeAdviceInput = z.object({ key });
