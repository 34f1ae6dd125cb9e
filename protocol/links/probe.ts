import * as z from "zod";
import type { NodeStore } from "../wire/hello.ts";
import { probeManner } from "../wire/measured.ts";
import { id } from "../base/names.ts";

/**
 * Reports of a node about its link to the store, and the hub's answers about its machine. Rates are payload bytes per
 * second; the UI shows bits.
 */

export const probeOutcome = z.enum(["accept", "warn", "reject"]);
export type ProbeOutcome = z.infer<typeof probeOutcome>;

/** Smallest rates of a link, bytes per second, and longest round trip; null: not required. */
export const linkThresholds = z.object({
  up: z.number().positive().max(1e13).nullable(),
  down: z.number().positive().max(1e13).nullable(),
  /** Absent from older workers. */
  rttMs: z.number().positive().max(600_000).nullable().default(null),
});
export type LinkThresholds = z.infer<typeof linkThresholds>;
export const NO_THRESHOLDS: LinkThresholds = { up: null, down: null, rttMs: null };

const rate = z.number().min(0).max(1e13).nullable();
/** SALAD_MACHINE_ID and similar: untrusted, only shown and counted. */
const machineId = z.string().min(1).max(128).nullable();

export const probeReport = z.object({
  /** Made by the node, so that a repeated report is the same probe. */
  id,
  machineId,
  outcome: probeOutcome,
  reason: z.string().max(1024),
  rttMs: z.number().min(0).max(600_000).nullable(),
  /** The store's clock minus this machine's. */
  clockSkewMs: z.number().min(-1e13).max(1e13).nullable(),
  /** Null: not measured. */
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

/** Remembered result of a machine: the rates with which it was last accepted, or for which it was last given back. */
export interface MachineMemory {
  verdict: "good" | "bad";
  at: number;
  /** Expiry, epoch ms by the hub's clock. */
  until: number;
  up: number | null;
  down: number | null;
  /** Absent from a hub that does not keep it. */
  rttMs?: number | null;
}

/** The bucket with which a node may measure its link, and what the hub remembers of its machine. */
export interface ProbeTarget {
  nodeId: string;
  store: NodeStore | null;
  machine: MachineMemory | null;
  hubTimeMs: number;
  /** Thresholds for the whole fleet; a node's own flags override them. Absent from a hub that keeps none. */
  thresholds?: LinkThresholds;
}

export const reallocateInput = z.object({
  /** Made by the node: a repeated request gets the same answer. */
  requestId: id,
  machineId,
  /** The probe that led to the request; null when the remembered result was enough. */
  probeId: id.nullable(),
});

export interface ReallocateAnswer {
  allowed: boolean;
  /** One sentence: the reason of the answer. */
  reason: string;
  /** The machine was given back before and the platform has not exchanged it, so it must go. Absent from an older hub. */
  isHereAgain?: boolean;
}
