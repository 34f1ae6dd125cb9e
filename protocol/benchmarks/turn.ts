import * as z from "zod";
import { faultData } from "../faults/fault-data.ts";
import { id } from "../base/names.ts";
import { storeAccess } from "../wire/operations.ts";
import { benchDirection, benchSettings, engineName } from "./plan-input.ts";

/** How a node takes its turn in a benchmark: it asks what is left to do at one bucket, and tells each case as it ends. */

export const benchCase = z.object({
  engine: engineName,
  direction: benchDirection,
  round: z.number().int().min(1).max(20),
});

export const benchJob = z.object({
  turnId: id,
  access: storeAccess,
  /** Below which everything is put; ends with `/`. */
  folder: z.string().max(1024),
  settings: benchSettings,
  /** In the order in which they are to be run; without those that were told already. */
  cases: z.array(benchCase),
  /** Where an admin allowed one at this bucket. Kept in memory only. */
  credential: z
    .object({ accessKeyId: z.string(), secretAccessKey: z.string(), sessionToken: z.string().exactOptional() })
    .nullable(),
  /** When the key ends by itself, by the hub's clock; null: it does not. */
  credentialEndsAt: z.number().nullable(),
  grant: z.string().nullable(),
  hubTimeMs: z.number(),
});
export type BenchJob = z.infer<typeof benchJob>;

export const benchCaseEnd = benchCase.extend({
  bytes: z.number().int().min(0).max(1e13),
  /** A command from its start, a library from when it was loaded. */
  tookMs: z.number().min(0).max(1e9),
  loadMs: z.number().min(0).max(1e9).nullable(),
  /** Null: it failed, and `fault` says why. */
  bytesPerSecond: z.number().min(0).max(1e13).nullable(),
  peakBytes: z.number().int().min(0).max(1e15).nullable(),
  fault: faultData.nullable(),
  /** The last of what the engine wrote, without secrets. */
  log: z.string().max(16_384),
});
export type BenchCaseEnd = z.infer<typeof benchCaseEnd>;

export const benchBeginInput = z.object({
  turnId: id,
  /** Null: it could not be measured. */
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
