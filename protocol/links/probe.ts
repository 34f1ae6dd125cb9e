import * as z from "zod";
import type { NodeStore } from "../wire/hello.ts";
import { probeManner } from "../wire/measured.ts";
import { id } from "../base/names.ts";

/**
 * How a node tells what its link to the store can do, and what it is told of its machine. Rates are bytes of payload per
 * second, as everywhere; people read and write bits.
 */

export const probeOutcome = z.enum(["accept", "warn", "reject"]);
export type ProbeOutcome = z.infer<typeof probeOutcome>;

/** The least a link must do, bytes per second, and the longest round trip; null: it is not asked for. */
export const linkThresholds = z.object({
  up: z.number().positive().max(1e13).nullable(),
  down: z.number().positive().max(1e13).nullable(),
  /** Older workers do not know of it. */
  rttMs: z.number().positive().max(600_000).nullable().default(null),
});
export type LinkThresholds = z.infer<typeof linkThresholds>;
export const NO_THRESHOLDS: LinkThresholds = { up: null, down: null, rttMs: null };

const rate = z.number().min(0).max(1e13).nullable();
/** SALAD_MACHINE_ID and the like: a stranger's word, shown and counted, never trusted with more. */
const machineId = z.string().min(1).max(128).nullable();

export const probeReport = z.object({
  /** Made by the node, so that a repetition is the same probe. */
  id,
  machineId,
  outcome: probeOutcome,
  reason: z.string().max(1024),
  rttMs: z.number().min(0).max(600_000).nullable(),
  /** The store's clock minus this machine's. */
  clockSkewMs: z.number().min(-1e13).max(1e13).nullable(),
  /** Null: it could not be measured. */
  up: rate,
  down: rate,
  thresholds: linkThresholds,
  attempts: z.number().int().min(1).max(100),
  tookMs: z.number().min(0).max(3_600_000),
  /** Absent from older workers. */
  manner: probeManner.optional(),
});
export type ProbeReport = z.infer<typeof probeReport>;

export const probeTargetInput = z.object({ machineId });

/** What is remembered of a machine: the rates it was last accepted with, or last given back for. */
export interface MachineMemory {
  verdict: "good" | "bad";
  at: number;
  /** Epoch ms by the hub's clock; after it nothing is remembered. */
  until: number;
  up: number | null;
  down: number | null;
  /** Left out by a hub that does not keep it. */
  rttMs?: number | null;
}

/** Where a node may measure its link, and what the hub knows of its machine. */
export interface ProbeTarget {
  nodeId: string;
  store: NodeStore | null;
  machine: MachineMemory | null;
  hubTimeMs: number;
  /** What the fleet asks of every link; a node's own flags go before it. Left out by a hub that keeps none. */
  thresholds?: LinkThresholds;
}

export const reallocateInput = z.object({
  /** Made by the node: asked again, the answer is the same. */
  requestId: id,
  machineId,
  /** The probe it is asked for; null when what the hub remembers was enough. */
  probeId: id.nullable(),
});

export interface ReallocateAnswer {
  allowed: boolean;
  /** A sentence: why, or why not. */
  reason: string;
  /** It was given back before and the platform has not exchanged it: it does not stay. Left out by an older hub. */
  isHereAgain?: boolean;
}
