import * as z from "zod";
import type { FaultData } from "../faults/fault.ts";
import { filePath, id } from "../base/names.ts";
import { MOST_CHOSEN } from "./orders.ts";
import { tensorPatterns } from "../checkpoint/tensor-choice.ts";

/** What people ask of restores, and what they see before one begins. */

/** Most nodes of one request. */
const MOST_NODES = 1_000;
/** A thousand processes on each of a thousand machines. */
const MOST_RANKS = 1_000_000;

export const rankOf = z
  .object({ rank: z.number().int().min(0).max(MOST_RANKS), of: z.number().int().min(1).max(MOST_RANKS) })
  .refine(({ rank, of }) => rank < of, "a rank is counted from 0 and less than the number of ranks");
export type RankOf = z.infer<typeof rankOf>;

const files = z.array(filePath).min(1).max(MOST_CHOSEN);

/** Tensors by their names, of all safetensors files or of these. */
const tensorChoice = z.object({ tensors: tensorPatterns, files: files.optional() });
export type TensorChoice = z.infer<typeof tensorChoice>;

/** Which files; null or left out: all. The one with tensors stands first: the next one would pass over them. */
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
  /** Absent: on each node outside of its watched folders, `restored/RUN/step-N`. */
  targetPath: targetPath.optional(),
  nodeIds: z.array(id).min(1).max(MOST_NODES),
  /** When it turns out damaged, the complete one before it is restored in its place. */
  mayFallBack: z.boolean().default(false),
});
export const previewRestoreInput = z.object({ ...wanted, nodeId: id });

/** `null`: as many as the hub thinks right. */
export const setRestoreCapInput = z.object({
  profileId: id,
  atOnce: z
    .number()
    .int()
    .min(1, "at least one restore at a time")
    .max(256, "at most 256 restores at a time")
    .nullable(),
});

/** Restores of one bucket profile at a time, unless somebody set another number. */
export const USUAL_AT_ONCE = 8;

/** What became of a request at one node: a restore, or why there is none. */
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
  /** What the provider lets leave for nothing, which is left out; null where there is nothing. */
  free: { gb: number; timesStored: number } | null;
}

export interface RestoreQueue {
  /** Most restores from the bucket profile at a time. */
  atOnce: number;
  moving: number;
  waiting: number;
}
