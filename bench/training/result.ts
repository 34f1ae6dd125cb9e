import * as z from "zod";
import { keepResult } from "../report/keep-result.ts";
import { machineFacts } from "../report/results.ts";

/** Stored results of `training`; its page is made from them. */

export const WAYS = ["to the disk only", "Tidemark", "rclone beside it", "rclone, waiting for it"] as const;
export type Way = (typeof WAYS)[number];

const row = z.object({
  way: z.enum(WAYS),
  /** Mean step of each round, as a multiple of that round's step with saving to the disk only. */
  stepRatio: z.array(z.number()),
  p50StepMs: z.number(),
  p99StepMs: z.number(),
  /** Mean pause of the training at each checkpoint, seconds. */
  stallSeconds: z.number(),
});
export type Row = z.infer<typeof row>;

const trainingResult = machineFacts.extend({
  /** The GPU that trains; null where a CPU does. */
  device: z.string().nullable(),
  uplinkBytesPerSecond: z.number(),
  checkpointBytes: z.number(),
  /** Seconds of computing between two checkpoints. */
  everySeconds: z.number(),
  saves: z.number(),
  rows: z.array(row),
});
export type TrainingResult = z.infer<typeof trainingResult>;

export const keptTraining = keepResult("training", trainingResult);
export const keptGpuTraining = keepResult("training-gpu", trainingResult);
