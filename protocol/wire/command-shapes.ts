import * as z from "zod";
import { instant } from "../base/bounded.ts";
import { filePath, id, runName, step } from "../base/names.ts";
import { tensorPatterns } from "../checkpoint/tensor-choice.ts";

/** Contents of commands, without the envelope that carries them (see commands.ts). */

/** Largest number of files that one restore can name; a larger choice restores all files. */
export const MOST_CHOSEN = 5_000;

/** Commands about one transfer. */
export const checkpointCommands = {
  restore: z.object({
    kind: z.literal("restore"),
    /** Id of the transfer for this restore. The hub chooses it, so that pages can follow the restore from the first moment. */
    transferId: id,
    checkpointId: id,
    run: runName,
    step,
    /** Absolute folder on the node. An existing one stays until the new one is verified; then it is moved aside and removed. */
    targetPath: z.string().min(1).max(1024),
    /** Restores only these files; null or absent: all. */
    files: z.array(filePath).min(1).max(MOST_CHOSEN).nullable().optional(),
    /** Restores only these tensors of the safetensors files, which are cut accordingly; null or absent: whole files. */
    tensors: tensorPatterns.nullable().optional(),
    /** Writes nothing beside the checkpoint: pointers and links there name another checkpoint. */
    isAlone: z.literal(true).optional(),
    /** Skips and reports files whose names the disk cannot hold, and restores all others. Absent: such names are a failure. */
    mayLeaveOut: z.literal(true).optional(),
  }),
  /** Reads every byte back and compares it with the manifest; writes nothing. Yields to all other transfers. */
  verify: z.object({
    kind: z.literal("verify"),
    transferId: id,
    checkpointId: id,
    run: runName,
    step,
    /** Home whose copy is read; absent: the one that the checkpoint's row names. */
    profileId: id.optional(),
  }),
  /** Restores into a scratch folder of the node, verifies, and removes the folder. Yields to all other transfers. */
  drill: z.object({ kind: z.literal("drill"), transferId: id, checkpointId: id, run: runName, step }),
  /** Reads a checkpoint from one home of its run and writes it to another. Yields to all other transfers. */
  copy: z.object({
    kind: z.literal("copy"),
    transferId: id,
    checkpointId: id,
    run: runName,
    step,
    /** Home to write to. */
    profileId: id,
  }),
  /** Reports what a restore would do without doing it: disk space, existing files, and whether it is allowed. */
  preview: z.object({
    kind: z.literal("preview"),
    checkpointId: id,
    run: runName,
    step,
    targetPath: z.string().min(1).max(1024),
    files: z.array(filePath).min(1).max(MOST_CHOSEN).nullable().optional(),
    tensors: tensorPatterns.nullable().optional(),
  }),
  cancel: z.object({ kind: z.literal("cancel"), transferId: id }),
  pause: z.object({ kind: z.literal("pause"), transferId: id }),
  resume: z.object({ kind: z.literal("resume"), transferId: id }),
  retry: z.object({ kind: z.literal("retry"), transferId: id }),
};

/** Commands about a benchmark. A journal stores commands and must hold no keys, so the node requests the key when it starts. */
export const benchCommands = {
  /** Runs every case that was not reported yet. */
  bench: z.object({ kind: z.literal("bench"), turnId: id }),
  /** Ends the turn, because the benchmark was cancelled. */
  benchEnd: z.object({ kind: z.literal("bench-end"), turnId: id }),
};

/** Null: all runs of the node. */
const anyRun = runName.nullable().default(null);
export const moveDirection = z.enum(["up", "down", "both"]);
export type MoveDirection = z.infer<typeof moveDirection>;
/** Bytes per second; 0: no limit; null: the limit that the worker was started with; absent: unchanged. */
const rate = z.number().int().min(0).max(1e13).nullable().optional();
const DAY_MS = 86_400_000;
const graceMs = z.number().int().min(0).max(DAY_MS);

/** Commands about a node, or one run on it. Times are epoch milliseconds by the hub's clock. */
export const nodeCommands = {
  /** Pauses present and later transfers until `release`, also across a restart. */
  hold: z.object({ kind: z.literal("hold"), run: anyRun, direction: moveDirection.default("both") }),
  /** Ends a hold. Without `run` it also ends a drain. */
  release: z.object({ kind: z.literal("release"), run: anyRun, direction: moveDirection.default("both") }),
  limit: z.object({
    kind: z.literal("limit"),
    up: rate,
    down: rate,
    /** Time at which the previous limit returns; null: until it is set again. */
    until: instant.nullable().default(null),
  }),
  priority: z.object({ kind: z.literal("priority"), run: runName, priority: z.enum(["low", "normal", "high"]) }),
  /** Captures what is finished now; the command ends when all of it is safe. */
  flush: z.object({ kind: z.literal("flush"), run: anyRun, timeoutMs: graceMs.nullable().default(null) }),
  /** Queues uploads that had failed permanently. */
  retryUploads: z.object({ kind: z.literal("retry-uploads"), run: anyRun }),
  /** Drops all captures that are not safe yet: waiting, uploading, paused or failed. Later captures are not affected. */
  cancelUploads: z.object({ kind: z.literal("cancel-uploads"), run: anyRun }),
  /** Measures the link to the store and records it. */
  probe: z.object({ kind: z.literal("probe") }),
  /** Uploads what is captured and captures no more until it is released, also after a restart. */
  drain: z.object({ kind: z.literal("drain") }),
  /** Asks the program that the worker runs to end. Checkpoints that are not safe after the grace period stay on the node. */
  stop: z.object({ kind: z.literal("stop"), graceMs: graceMs.default(60_000) }),
  /** Gives the machine back to its platform if the hub's limits allow it. Uploads for the grace period first. */
  reallocate: z.object({
    kind: z.literal("reallocate"),
    reason: z.string().max(256).default("asked for by an operator"),
    graceMs: graceMs.default(60_000),
  }),
};

export const nodeCommand = z.discriminatedUnion("kind", [
  nodeCommands.hold,
  nodeCommands.release,
  nodeCommands.limit,
  nodeCommands.priority,
  nodeCommands.flush,
  nodeCommands.retryUploads,
  nodeCommands.cancelUploads,
  nodeCommands.probe,
  nodeCommands.drain,
  nodeCommands.stop,
  nodeCommands.reallocate,
]);
export type NodeCommand = z.infer<typeof nodeCommand>;
