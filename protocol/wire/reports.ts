import * as z from "zod";
import { byteCount, count, instant, rate, roundTrip } from "../base/bounded.ts";
import { checkpointRole } from "../checkpoint/checkpoint.ts";
import { commandOutcome } from "./commands.ts";
import { damageReport } from "../checkpoint/damage.ts";
import { faultData } from "../faults/fault-data.ts";
import { homeAway, MOST_HOMES } from "./homes.ts";
import { measured } from "./measured.ts";
import { attemptId, filePath, findCollision, id, runName, step, writerEpoch } from "../base/names.ts";
import { pieceMap, transferDirection, transferState } from "./transfer.ts";

/**
 * What a node tells the hub. Two kinds: *progress* is the present, sent often, never acknowledged as durable and lost
 * without harm; *events* are history, numbered by the node, kept in its outbox until the hub has them in its database,
 * and taken once however often they arrive.
 */

export const transferProgress = z.object({
  id,
  direction: transferDirection,
  state: transferState,
  checkpointId: id,
  run: runName,
  step,
  bytesDone: byteCount,
  bytesTotal: byteCount,
  filesDone: count,
  filesTotal: count,
  /** The file that moves now, for the sentence. */
  currentPath: z.string().max(1024).nullable(),
  bytesPerSecond: rate,
  startedAt: instant.nullable(),
  connections: count,
  retries: count,
  pieces: pieceMap,
  /** Positions in it of pieces that came to nothing before and are not there yet. */
  triedAgain: z.array(z.number().int().min(0).max(239)).max(240).optional(),
  /** Milliseconds without a byte, when that is long enough to say. */
  stalledMs: byteCount.nullable(),
  /** Why it waits or retries, when there is a reason. */
  fault: faultData.nullable(),
  startedBy: z.enum(["queue", "operator", "start"]),
  /** The home at the other end; absent: the one that the checkpoint's row names. */
  profileId: id.optional(),
});
export type TransferProgress = z.infer<typeof transferProgress>;

/** What is not safe yet of one run on this node. "Safe" means: the hub recorded the manifest's digest. */
export const runBacklog = z.object({
  run: runName,
  writerEpoch: writerEpoch.nullable(),
  /** Captured but not safe: checkpoints, files, bytes; `movedBytes` of them are already acknowledged by the store. */
  unsafeCheckpoints: count,
  unsafeFiles: count,
  unsafeBytes: byteCount,
  movedBytes: byteCount,
  /** When the oldest capture that is not safe was finished by the program. */
  oldestUnsafeAt: instant.nullable(),
  /** Newest safe step and when the program had finished writing it. */
  safeStep: step.nullable(),
  safeAt: instant.nullable(),
  safeBytes: byteCount,
  /** Newest step seen on disk. */
  localStep: step.nullable(),
  localAt: instant.nullable(),
  /** When this worker first saw the run: the start of what could be lost before the first safe step. */
  startedAt: instant,
  /** Time between the last two captures. */
  intervalMs: byteCount.nullable(),
  /** How far training has come, captured or not, as far as its program says; and when it was last seen at work. */
  trainedStep: step.nullable().default(null),
  trainedAt: instant.nullable().default(null),
  /** Of the time since the newest safe step was written (since `startedAt` without one), that in which nothing trained. */
  idleMs: byteCount.default(0),
  /** Its program says no steps and is at work: it may have come further than `trainedStep`. */
  isStepUncertain: z.literal(true).optional(),
  /** How far such a program has come by its pace, where that is further than what is known. */
  estimatedStep: step.optional(),
  /** Shortest time between two checkpoints that this node's uplink can sustain; null while that is not known. */
  leastIntervalMs: byteCount.nullable().default(null),
});
export type RunBacklog = z.infer<typeof runBacklog>;

/** `mayRestore`: the hub may have checkpoints put inside of it. */
const reportedWatch = z.object({ run: runName, folder: z.string().max(1_024), mayRestore: z.boolean() });
/** A watched folder of a node, whether a program trains there now, and how often it writes checkpoints; null: not known. */
export type WatchedFolder = z.infer<typeof reportedWatch> & { isTraining: boolean; intervalMs: number | null };

export const progressReport = z.object({
  bootId: id,
  /** Counts up with each report of one boot: one that was overtaken on the way does not replace a newer one. */
  seq: count.min(1),
  at: instant,
  upBytesPerSecond: rate,
  downBytesPerSecond: rate,
  rttMs: roundTrip.nullable(),
  disk: z.object({ freeBytes: byteCount, totalBytes: byteCount, path: z.string().max(1024) }).nullable(),
  cpuPercent: z.number().min(0).max(1_000_000).nullable(),
  /** What the program beside the worker said last, while somebody looks. A stranger's text. */
  logTail: z.string().max(8_192).nullable().default(null),
  runs: z.array(runBacklog).max(64),
  transfers: z.array(transferProgress).max(64),
  /** Buckets that it cannot reach and saves elsewhere instead of. */
  homesAway: z.array(homeAway).max(16).optional(),
  /** Where restores may go outside of watched folders; absent where there is no such place. */
  restoreFolder: z.string().max(1_024).exactOptional(),
  /** Absent from older workers. */
  watched: z.array(reportedWatch).max(64).exactOptional(),
});
export type ProgressReport = z.infer<typeof progressReport>;

export const captureAnnouncement = z
  .object({
    checkpointId: id,
    run: runName,
    writerEpoch,
    step,
    attempt: attemptId,
    framework: z.string().max(64).nullable(),
    /** Absent of a checkpoint. The answer repeats it: a hub that does not know it must not be sent one. */
    role: checkpointRole.optional(),
    capturedAt: instant,
    /** The home that it goes to; left out: the node's own profile. */
    profileId: id.optional(),
    files: z
      .array(z.object({ path: filePath, sizeBytes: byteCount }))
      .min(1)
      .max(50_000),
    /** The wrapping key that it will be encrypted for; left out: it goes as it is. */
    sealKeyId: id.nullish(),
  })
  .superRefine(({ files }, context) => {
    // Here, because a large one is parsed in a thread: folding 50,000 names takes a tenth of a second.
    const collision = findCollision(files.map(({ path }) => path));
    if (collision !== null)
      context.addIssue({ code: "custom", message: `${collision.join(" and ")} would land on the same file` });
  });
export type CaptureAnnouncement = z.infer<typeof captureAnnouncement>;

/** The operation of a NO_CHECKPOINT fault that speaks of everything a program left, not of one file. */
export const ENDED_UNSAFE = "end of program";

const eventBase = { seq: count.min(1), at: instant };

export const nodeEvent = z.discriminatedUnion("type", [
  z.object({
    ...eventBase,
    type: z.literal("transfer-ended"),
    transferId: id,
    direction: transferDirection,
    state: z.enum(["done", "failed", "cancelled", "superseded"]),
    checkpointId: id,
    run: runName,
    step,
    bytes: byteCount,
    files: count,
    /** Bytes that really crossed the network: less than `bytes` after a resume, more after retries. */
    sentBytes: byteCount,
    startedAt: instant,
    retries: count,
    connections: count,
    startedBy: z.enum(["queue", "operator", "start"]),
    fault: faultData.nullable(),
    /** What of the checkpoint turned out not to be what was committed; absent when all that was read is. */
    damage: damageReport.optional(),
    /** Of a restore: not all of its files were asked for. */
    isPartial: z.literal(true).optional(),
    /** Absent when nothing moved, and from older workers. */
    measured: measured.optional(),
    /** The home at the other end; absent: the one that the checkpoint's row names. */
    profileId: id.optional(),
    /** Of what read another copy in the end: those it left, because their bytes are not what was committed. */
    damagedCopies: z
      .array(z.object({ profileId: id, damage: damageReport }))
      .max(MOST_HOMES)
      .optional(),
  }),
  z.object({ ...eventBase, type: z.literal("command-accepted"), commandId: id }),
  z.object({ ...eventBase, type: z.literal("command-ended"), commandId: id, ...commandOutcome.shape }),
  /** With the operation `ENDED_UNSAFE` in its fault: a program ended, and of what it wrote to a watched folder nothing is safe. */
  z.object({
    ...eventBase,
    type: z.literal("capture-refused"),
    run: runName,
    path: z.string().max(1024),
    fault: faultData,
  }),
  z.object({
    ...eventBase,
    type: z.literal("program-ended"),
    run: runName,
    code: z.number().int().min(-2_147_483_648).max(4_294_967_295).nullable(),
    signal: z.string().max(32).nullable(),
    ranMs: byteCount,
    /** What it said last. */
    tail: z.string().max(8_192),
  }),
  /**
   * An interruption on this node is over: training goes on from `fromStep` (null: from the beginning) after it had come to
   * `lastStep`. What is lost when another node takes over the hub knows by itself.
   */
  z.object({
    ...eventBase,
    type: z.literal("work-lost"),
    lossId: id,
    run: runName,
    writerEpoch,
    fromStep: step.nullable(),
    lastStep: step,
    lostSteps: step,
    lostMs: byteCount,
    /** Its program says no steps: the last one is reckoned from its pace, or not known at all (`lostSteps` is 0). */
    isEstimated: z.literal(true).optional(),
  }),
]);
export type NodeEvent = z.infer<typeof nodeEvent>;
/** An event before the outbox gave it its number and time. */
export type NodeEventBody = NodeEvent extends infer E ? (E extends NodeEvent ? Omit<E, "seq" | "at"> : never) : never;

export const recordInput = z.object({ events: z.array(nodeEvent).min(1).max(100) });
