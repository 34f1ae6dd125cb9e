import * as z from "zod";
import { id } from "../base/names.ts";
import { scope } from "../base/scope.ts";
import { ENGINE_NAMES, isEngine } from "./engines.ts";
import { LEAST_PART_BYTES, PART_TOO_SHORT } from "./presets.ts";

/** Settings of a benchmark that people choose, and the preview that they get before it starts. */

/** Largest number of turns of one benchmark; a turn is one node at one bucket. */
export const MOST_TURNS = 5_000;
const MB = 1_000_000;

export const engineName = z
  .string()
  .max(32)
  .refine(isEngine, `one of ${ENGINE_NAMES.join(", ")}`);
export const benchDirection = z.enum(["up", "down"]);

const unique = (values: readonly unknown[]): boolean => new Set(values).size === values.length;

/** Settings that hold for every node and bucket. Stored ones may have shorter parts than a new benchmark may. */
export const benchSettings = z.object({
  engines: z.array(engineName).min(1).max(ENGINE_NAMES.length).refine(unique, "an engine is named twice"),
  directions: z.array(benchDirection).min(1).max(2).refine(unique, "a direction is named twice"),
  sizeBytes: z
    .number()
    .int()
    .min(MB)
    .max(20_000 * MB),
  partBytes: z
    .number()
    .int()
    .min(MB)
    .max(5_000 * MB),
  connections: z.number().int().min(1).max(256),
  rounds: z.number().int().min(1).max(20),
  /** Longest time of a case; a case that takes longer is ended and counts as failed. */
  timeLimitMs: z.number().int().min(1_000).max(3_600_000),
  memoryBytes: z
    .number()
    .int()
    .min(64 * MB)
    .max(1_000_000 * MB),
});
export type BenchSettings = z.infer<typeof benchSettings>;

/** Settings of a new benchmark. */
export const newBenchSettings = benchSettings.extend({
  partBytes: benchSettings.shape.partBytes.min(LEAST_PART_BYTES, PART_TOO_SHORT),
});

/** The settings of the SaladCloud guide. */
export const USUAL_SETTINGS: BenchSettings = {
  engines: ["tidemark", "sdk", "rclone-tuned", "boto3"],
  directions: ["up", "down"],
  sizeBytes: 300 * MB,
  partBytes: 10 * MB,
  connections: 10,
  rounds: 1,
  timeLimitMs: 300_000,
  memoryBytes: 4_096 * MB,
};

export const benchTargets = z.object({
  /** Selects among the nodes that are online. */
  scope,
  /** Takes at most this many of them, chosen by the seed; null: all. */
  sample: z.number().int().min(1).max(MOST_TURNS).nullable(),
  profileIds: z.array(id).min(1).max(32).refine(unique, "a bucket is named twice"),
});

export const planBenchInput = z.object({ targets: benchTargets, settings: newBenchSettings });

export const startBenchInput = planBenchInput.extend({
  /** Made by the client: a repeated request starts no second benchmark. */
  id,
  name: z.string().trim().min(1).max(128),
  /** Nodes that are measured at one bucket at the same time. */
  perBucket: z.number().int().min(1).max(500),
  /** Determines the sample and the order. */
  seed: z.number().int().min(0).max(4_294_967_295),
});
export type StartBench = z.infer<typeof startBenchInput>;
