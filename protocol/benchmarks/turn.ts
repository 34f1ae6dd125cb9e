import * as z from "zod";
import { faultData } from "../faults/fault-data.ts";
import { id } from "../base/names.ts";
import { storeAccess } from "../wire/operations.ts";
import { benchDirection, benchSettings, engineName } from "./plan-input.ts";

/** A node's turn in a benchmark: it asks which cases are left at one bucket, and reports each case as it ends. */

export const benchCase = z.object({
  engine: engineName,
  direction: benchDirection,
  round: z.number().int().min(1).max(20),
});

export const benchJob = z.object({
  turnId: id,
  access: storeAccess,
  /** Prefix for all objects of the turn; ends with `/`. */
  folder: z.string().max(1024),
  settings: benchSettings,
  /** Cases in the order in which they run, without those already reported. */
  cases: z.array(benchCase),
  /** Present when an admin allowed a key at this bucket. Kept in memory only. */
  credential: z
    .object({ accessKeyId: z.string(), secretAccessKey: z.string(), sessionToken: z.string().exactOptional() })
    .nullable(),
  /** Expiry of the key by the hub's clock; null: it does not expire. */
  credentialEndsAt: z.number().nullable(),
  grant: z.string().nullable(),
  hubTimeMs: z.number(),
});
export type BenchJob = z.infer<typeof benchJob>;

export const benchCaseEnd = benchCase.extend({
  bytes: z.number().int().min(0).max(1e13),
  /** Time of a command from its start, of a library from when it was loaded. */
  tookMs: z.number().min(0).max(1e9),
  loadMs: z.number().min(0).max(1e9).nullable(),
  /** Null: the case failed, and `fault` says why. */
  bytesPerSecond: z.number().min(0).max(1e13).nullable(),
  peakBytes: z.number().int().min(0).max(1e15).nullable(),
  fault: faultData.nullable(),
  /** The last output of the engine, without secrets. */
  log: z.string().max(16_384),
});
export type BenchCaseEnd = z.infer<typeof benchCaseEnd>;

export const benchBeginInput = z.object({
  turnId: id,
  /** Null: the round trip could not be measured. */
  rttMs: z.number().min(0).max(600_000).nullable(),
  engines: z
    .array(
      z.object({
        engine: engineName,
        version: z.string().max(256).nullable(),
        missing: z.string().max(512).nullable(),
      }),
    )
    .max(32),
});
export type BenchBegin = z.infer<typeof benchBeginInput>;

export const benchCaseInput = z.object({ turnId: id, end: benchCaseEnd });
