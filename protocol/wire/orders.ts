import * as z from "zod";
import { instant } from "../base/bounded.ts";
import { filePath, id, runName, step } from "../base/names.ts";
import { tensorPatterns } from "../checkpoint/tensor-choice.ts";

/** What commands ask for, without the envelope they travel in (see commands.ts). */

/** Most files that one restore names; who wants more takes all. */
export const MOST_CHOSEN = 5_000;

/** About one transfer. */
export const checkpointOrders = {
  restore: z.object({
    kind: z.literal("restore"),
    /** The transfer this restore shows up as, chosen by the hub so that the screen can follow it from the first moment. */
    transferId: id,
    checkpointId: id,
    run: runName,
    step,
    /** Absolute folder on the node. An existing one is kept until the new one is verified, then set aside and removed. */
    targetPath: z.string().min(1).max(1024),
    /** Only these files of it; left out or null: all. */
    files: z.array(filePath).min(1).max(MOST_CHOSEN).nullable().optional(),
    /** Only these tensors of its safetensors files, each file cut to them; left out or null: whole files. */
    tensors: tensorPatterns.nullable().optional(),
    /** Nothing is put beside it: pointers and links there name another checkpoint. */
    isAlone: z.literal(true).optional(),
    /** Files whose names the disk cannot hold are named, and all others put in place. Left out: none is. */
    mayLeaveOut: z.literal(true).optional(),
  }),
  /** Reads every byte back and compares it with the manifest; nothing is written. Whatever else moves goes first. */
  verify: z.object({
    kind: z.literal("verify"),
    transferId: id,
    checkpointId: id,
    run: runName,
    step,
    /** The copy in this home; left out: the one that the checkpoint's row names. */
    profileId: id.optional(),
  }),
  /** Restores into a scratch folder of the node's own, verified, and removes it. Whatever else moves goes first. */
  drill: z.object({ kind: z.literal("drill"), transferId: id, checkpointId: id, run: runName, step }),
  /** Reads a checkpoint from one home of its run and writes it to another. Whatever else moves goes first. */
  copy: z.object({
    kind: z.literal("copy"),
    transferId: id,
    checkpointId: id,
    run: runName,
    step,
    /** The home it is to come to. */
    profileId: id,
  }),
  /** Says what a restore would do, and does nothing: room, what is there, whether it may. */
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

/** About a benchmark. What is to be done, and with which key, the node asks when it begins: a journal holds commands, and no keys. */
export const benchOrders = {
  /** Runs every case that was not told yet. */
  bench: z.object({ kind: z.literal("bench"), turnId: id }),
  /** Nobody wants it any more. */
  benchEnd: z.object({ kind: z.literal("bench-end"), turnId: id }),
};

/** Null: all runs of the node. */
const anyRun = runName.nullable().default(null);
export const moveDirection = z.enum(["up", "down", "both"]);
export type MoveDirection = z.infer<typeof moveDirection>;
/** Bytes per second; 0: no limit; null: as the worker was started; left out: as it is. */
const rate = z.number().int().min(0).max(1e13).nullable().optional();
const DAY_MS = 86_400_000;
const graceMs = z.number().int().min(0).max(DAY_MS);

/** About a whole node, or one run on it. Times are epoch milliseconds by the hub's clock. */
export const nodeOrders = {
  /** What moves, and what comes later, waits until it is released; also over a restart. */
  hold: z.object({ kind: z.literal("hold"), run: anyRun, direction: moveDirection.default("both") }),
  /** Of everything, it also ends a drain. */
  release: z.object({ kind: z.literal("release"), run: anyRun, direction: moveDirection.default("both") }),
  limit: z.object({
    kind: z.literal("limit"),
    up: rate,
    down: rate,
    /** Then what held before comes back; null: until it is set again. */
    until: instant.nullable().default(null),
  }),
  priority: z.object({ kind: z.literal("priority"), run: runName, priority: z.enum(["low", "normal", "high"]) }),
  /** Takes what is finished now and ends when it is safe. */
  flush: z.object({ kind: z.literal("flush"), run: anyRun, timeoutMs: graceMs.nullable().default(null) }),
  /** Uploads that failed for good wait again. */
  retryUploads: z.object({ kind: z.literal("retry-uploads"), run: anyRun }),
  /** Drops all captures that are not safe yet: waiting, uploading, paused or failed. Later captures are not affected. */
  cancelUploads: z.object({ kind: z.literal("cancel-uploads"), run: anyRun }),
  /** Measures the link to the store and records it. */
  probe: z.object({ kind: z.literal("probe") }),
  /** Uploads what is captured and captures no more until it is released, also after a restart. */
  drain: z.object({ kind: z.literal("drain") }),
  /** Asks the program that the worker runs to end. Checkpoints that are not safe after the grace time stay on the node. */
  stop: z.object({ kind: z.literal("stop"), graceMs: graceMs.default(60_000) }),
  /** Gives the machine back to its platform, when the governor of the hub agrees; uploads within the grace before. */
  reallocate: z.object({
    kind: z.literal("reallocate"),
    reason: z.string().max(256).default("asked for by an operator"),
    graceMs: graceMs.default(60_000),
  }),
};

export const nodeOrder = z.discriminatedUnion("kind", [
  nodeOrders.hold,
  nodeOrders.release,
  nodeOrders.limit,
  nodeOrders.priority,
  nodeOrders.flush,
  nodeOrders.retryUploads,
  nodeOrders.cancelUploads,
  nodeOrders.probe,
  nodeOrders.drain,
  nodeOrders.stop,
  nodeOrders.reallocate,
]);
export type NodeOrder = z.infer<typeof nodeOrder>;
