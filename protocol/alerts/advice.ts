import * as z from "zod";
import type { AdviceKind } from "./advice-kinds.ts";
import { id } from "../base/names.ts";

/** What the stored history of links says to do, each piece with what it rests on. Rates are bytes per second, times ms. */

/** A number that the advice rests on, and how it is read. */
export interface AdviceFact {
  label: string;
  value: number;
  as: "rate" | "duration" | "bytes" | "times" | "share" | "count";
}

/** What a rule found. `node` is whatever stands for one where it is looked for; null where it is about more than one. */
export interface Finding<Node = number> {
  kind: AdviceKind;
  node: Node | null;
  profileId: string | null;
  /** Of nodes; null where it is about one node. */
  region: string | null;
  way: "up" | "down" | null;
  run: string | null;
  /** The bucket that would be better. */
  betterId: string | null;
  facts: AdviceFact[];
  /** Values it rests on, and the fewest with which anything is said. */
  samples: number;
  least: number;
  /** How many of the values are cases of benchmarks. */
  ofBenchmarks: number;
  /** Nodes they come from. */
  nodes: number;
  /** The better value of a setting. */
  better: { partBytes: number } | { connections: number } | null;
}

export interface Dismissal {
  reason: string;
  at: number;
  by: string;
  /** Null: for good. */
  until: number | null;
}

export interface Advice extends Finding<string> {
  /** Names it as long as it is about the same. */
  key: string;
  nodeName: string | null;
  profileName: string | null;
  betterName: string | null;
  dismissal: Dismissal | null;
}

/** Rates of nodes in order, slowest first, at most 101 of them; empty below the least sample. */
export interface RateSpread {
  rates: number[];
  nodes: number;
  samples: number;
  /** How many of them are cases of benchmarks. */
  ofBenchmarks: number;
  least: number;
}

export interface AdviceAnswer {
  advice: Advice[];
  up: RateSpread;
  down: RateSpread;
  /** Measurements and transfers that were looked at, of the last `days`; one in `oneIn` where there are too many. */
  rows: number;
  /** Cases and round trips of benchmarks that were looked at beside them. */
  benchRows: number;
  days: number;
  oneIn: number;
  at: number;
}

/** Of all nodes, or of one. */
export const listAdviceInput = z.object({ nodeId: id.nullable().default(null) });

const key = z.string().min(1).max(512);
export const dismissInput = z.object({
  key,
  reason: z.string().trim().min(1, "say why, for whoever comes after you").max(256),
  /** Null: for good. */
  forDays: z.number().int().min(1).max(365).nullable(),
});
export const bringAdviceBackInput = z.object({ key });
/** What a profile's nodes begin with from now on; the one that the advice is about. */
export const takeAdviceInput = z.object({ key });
