import * as z from "zod";
import type { FaultData } from "../faults/fault.ts";
import { filePath, id } from "../base/names.ts";
import { MOST_CHOSEN } from "./command-shapes.ts";
import { tensorPatterns } from "../checkpoint/tensor-choice.ts";

/** Inputs for restores, and what people see before a restore starts. */

/** Largest number of nodes in one request. */
const MOST_NODES = 1_000;
/** A thousand processes on each of a thousand nodes. */
const MOST_RANKS = 1_000_000;

export const rankOf = z
  .object({ rank: z.number().int().min(0).max(MOST_RANKS), of: z.number().int().min(1).max(MOST_RANKS) })
  .refine(({ rank, of }) => rank < of, "a rank is counted from 0 and less than the number of ranks");
export type RankOf = z.infer<typeof rankOf>;

const files = z.array(filePath).min(1).max(MOST_CHOSEN);

/** Tensors by name, in all safetensors files or only in `files`. */
const tensorChoice = z.object({ tensors: tensorPatterns, files: files.optional() });
export type TensorChoice = z.infer<typeof tensorChoice>;

/** Selects files; null or absent: all. The variant with tensors is first, because the next one would match and drop them. */
export const fileChoice = z
  .union([tensorChoice, z.object({ files }), rankOf])
  .nullable()
  .default(null);
export type FileChoice = z.infer<typeof fileChoice>;

export const targetPath = z
  .string()
  .min(2, "the target is an absolute folder on the node")
  .max(1024)
  .refine(
    (path) => path.startsWith("/") && !path.split("/").includes(".."),
    "the target is an absolute folder on the node, without '..'",
  );

const wanted = {
  /** Made by the client, so that a repeated request starts the same restores. */
  requestId: id,
  checkpointId: id,
  targetPath,
  choice: fileChoice,
};

export const startRestoresInput = z.object({
  ...wanted,
  /** Absent: `restored/RUN/step-N` on each node, outside of its watched folders. */
  targetPath: targetPath.optional(),
  nodeIds: z.array(id).min(1).max(MOST_NODES),
  /** Restores the previous complete checkpoint when this one turns out to be damaged. */
  mayFallBack: z.boolean().default(false),
});
export const previewRestoreInput = z.object({ ...wanted, nodeId: id });

/** `null`: the hub's default. */
export const setRestoreCapInput = z.object({
  profileId: id,
  atOnce: z
    .number()
    .int()
    .min(1, "at least one restore at a time")
    .max(256, "at most 256 restores at a time")
    .nullable(),
});

/** Default number of simultaneous restores from one bucket profile. */
export const USUAL_AT_ONCE = 8;

/** Result of a request for one node: a restore, or the reason why there is none. */
export interface StartedRestore {
  nodeId: string;
  nodeName: string | null;
  transferId: string | null;
  fault: FaultData | null;
}

/** Estimate for one node; money in `currency`. */
export interface RestoreCost {
  currency: "USD" | "EUR";
  egress: number;
  requests: number;
  total: number;
  /** The provider's free egress, which the estimate ignores; null when there is none. */
  free: { gb: number; timesStored: number } | null;
}

export interface RestoreQueue {
  /** Largest number of simultaneous restores from the bucket profile. */
  atOnce: number;
  moving: number;
  waiting: number;
}
