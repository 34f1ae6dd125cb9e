import * as z from "zod";
import { byteCount, count, instant, rate, roundTrip } from "../base/bounded.ts";
import { checkpointRole } from "../checkpoint/checkpoint.ts";
import { commandOutcome } from "./commands.ts";
import { damageReport } from "../checkpoint/damage.ts";
import { faultData } from "../faults/fault-data.ts";
import type { NodeSettings } from "./hello.ts";
import { homeAway, MOST_HOMES } from "./homes.ts";
import type { StepSource } from "../checkpoint/place.ts";
import { measured } from "./measured.ts";
import { anyEpoch, attemptId, filePath, findCollision, id, runName, step, writerEpoch } from "../base/names.ts";
import { pieceMap, transferDirection, transferState } from "./transfer.ts";

/**
 * Reports of a node to the hub, of two kinds. Progress is the present state: sent often, never acknowledged as durable, lost
 * without harm. Events are history: the node numbers them and keeps them in its outbox until the hub has stored them. Each
 * event takes effect once, however often it arrives.
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
  /** The file that is being transferred, for display. */
  currentPath: z.string().max(1024).nullable(),
  bytesPerSecond: rate,
  startedAt: instant.nullable(),
  connections: count,
  retries: count,
  pieces: pieceMap,
  /** Positions in `pieces` that failed before and are not done yet. */
  triedAgain: z.array(z.number().int().min(0).max(239)).max(240).optional(),
  /** Milliseconds without a byte; null when too short to report. */
  stalledMs: byteCount.nullable(),
  /** Why the transfer waits or retries, when there is a reason. */
  fault: faultData.nullable(),
  startedBy: z.enum(["queue", "operator", "start"]),
  /** Home at the other end; absent: the one that the checkpoint's row names. */
  profileId: id.optional(),
});
export type TransferProgress = z.infer<typeof transferProgress>;

/** Work of one run on this node that is not safe yet. "Safe" means that the hub recorded the manifest's digest. */
export const runBacklog = z.object({
  run: runName,
  writerEpoch: writerEpoch.nullable(),
  /** Captured but not safe: checkpoints, files, bytes. The store has already acknowledged `movedBytes` of the bytes. */
  unsafeCheckpoints: count,
  unsafeFiles: count,
  unsafeBytes: byteCount,
  movedBytes: byteCount,
  /** Time at which the program finished the oldest unsafe checkpoint. */
  oldestUnsafeAt: instant.nullable(),
  /** Newest safe step, and the time at which the program finished writing it. */
  safeStep: step.nullable(),
  safeAt: instant.nullable(),
  safeBytes: byteCount,
  /** Newest step on the node's disk, and its time. */
  localStep: step.nullable(),
  localAt: instant.nullable(),
  /** `safeStep` is the time of writing in seconds since 1970: nothing tells a step. Absent from older workers. */
  isSafeByTime: z.literal(true).optional(),
  /** `localStep` is such a time. */
  isLocalByTime: z.literal(true).optional(),
  /** Time at which this worker first saw the run; before the first safe step, work since then is at risk. */
  startedAt: instant,
  /** Time between the last two captures. */
  intervalMs: byteCount.nullable(),
  /** Last step that the program reported, captured or not, and the time at which it was last seen running. */
  trainedStep: step.nullable().default(null),
  trainedAt: instant.nullable().default(null),
  /** Time without training since the newest safe step was written (since `startedAt` when there is none). */
  idleMs: byteCount.default(0),
  /** The program reports no steps and is running, so it may be beyond `trainedStep`. */
  isStepUncertain: z.literal(true).optional(),
  /** Step of such a program as estimated from its pace, when that is beyond the known steps. */
  estimatedStep: step.optional(),
  /** Shortest interval between checkpoints that this node's uplink can sustain; null while unknown. */
  leastIntervalMs: byteCount.nullable().default(null),
});
export type RunBacklog = z.infer<typeof runBacklog>;

/** Returns the origin of the safe step as far as the report says it. */
export const safeSourceOf = ({ isSafeByTime }: Pick<RunBacklog, "isSafeByTime">): StepSource | undefined =>
  isSafeByTime === true ? "time" : undefined;

/** `mayRestore`: the hub may have checkpoints restored into this folder. */
const reportedWatch = z.object({ run: runName, folder: z.string().max(1_024), mayRestore: z.boolean() });
/** A watched folder of a node, whether a program trains there now, and the interval of its checkpoints (null: unknown). */
export type WatchedFolder = z.infer<typeof reportedWatch> & { isTraining: boolean; intervalMs: number | null };

/** Most bytes of new output of a job in one report. */
export const MOST_LIVE_LOG_BYTES = 32 * 1024;
/** New output of the program of a job, sent while a person watches. Untrusted text. */
const liveLog = z.object({
  jobId: id,
  attempt: count.min(1),
  /** Bytes of the output before this text. */
  fromByte: byteCount,
  text: z.string().max(MOST_LIVE_LOG_BYTES),
});
export type LiveLog = z.infer<typeof liveLog>;

export const progressReport = z.object({
  bootId: id,
  /** Increases with each report of one boot, so that a delayed report never replaces a newer one. */
  seq: count.min(1),
  at: instant,
  upBytesPerSecond: rate,
  downBytesPerSecond: rate,
  rttMs: roundTrip.nullable(),
  disk: z.object({ freeBytes: byteCount, totalBytes: byteCount, path: z.string().max(1024) }).nullable(),
  cpuPercent: z.number().min(0).max(1_000_000).nullable(),
  /** Last output of the program beside the worker, sent while a person watches. Untrusted text. */
  logTail: z.string().max(8_192).nullable().default(null),
  /** New output of the program of a job, sent while a person watches. Absent from older workers. */
  jobLog: liveLog.exactOptional(),
  runs: z.array(runBacklog).max(64),
  transfers: z.array(transferProgress).max(64),
  /** Buckets that the node cannot reach, so that it saves to others. */
  homesAway: z.array(homeAway).max(16).optional(),
  /** Folder for restores outside of watched folders; absent when there is none. */
  restoreFolder: z.string().max(1_024).exactOptional(),
  /** Absent from older workers. */
  watched: z.array(reportedWatch).max(64).exactOptional(),
});
export type ProgressReport = z.infer<typeof progressReport>;

export interface ReportAnswer {
  settings: NodeSettings;
  /** Output of a job that a person reads: the next report carries what follows this byte. Absent from older hubs. */
  jobLog?: Pick<LiveLog, "jobId" | "attempt" | "fromByte">;
}

export const captureAnnouncement = z
  .object({
    checkpointId: id,
    run: runName,
    writerEpoch,
    step,
    attempt: attemptId,
    framework: z.string().max(64).nullable(),
    /** Absent for a checkpoint. The answer repeats it, because a hub that does not know roles must not receive such uploads. */
    role: checkpointRole.optional(),
    capturedAt: instant,
    /** Home to upload to; absent: the node's own profile. */
    profileId: id.optional(),
    files: z
      .array(z.object({ path: filePath, sizeBytes: byteCount }))
      .min(1)
      .max(50_000),
    /** Id of the wrapping key for encryption; absent: no encryption. */
    sealKeyId: id.nullish(),
  })
  .superRefine(({ files }, context) => {
    // Checked in the schema, because large inputs are parsed in a thread: checking 50,000 names takes a tenth of a second.
    const collision = findCollision(files.map(({ path }) => path));
    if (collision !== null)
      context.addIssue({ code: "custom", message: `${collision.join(" and ")} would land on the same file` });
  });
export type CaptureAnnouncement = z.infer<typeof captureAnnouncement>;

/** Operation of a NO_CHECKPOINT fault that concerns everything a program left, not one file. */
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
    /** Bytes that crossed the network: fewer than `bytes` after a resume, more after retries. */
    sentBytes: byteCount,
    startedAt: instant,
    retries: count,
    connections: count,
    startedBy: z.enum(["queue", "operator", "start"]),
    fault: faultData.nullable(),
    /** Bytes that differ from what was committed; absent when everything that was read is correct. */
    damage: damageReport.optional(),
    /** For a restore: only some of its files were requested. */
    isPartial: z.literal(true).optional(),
    /** Absent when nothing moved, and from older workers. */
    measured: measured.optional(),
    /** Home at the other end; absent: the one that the checkpoint's row names. */
    profileId: id.optional(),
    /** Copies that a restore abandoned for another copy, because their bytes differ from what was committed. */
    damagedCopies: z
      .array(z.object({ profileId: id, damage: damageReport }))
      .max(MOST_HOMES)
      .optional(),
  }),
  z.object({ ...eventBase, type: z.literal("command-accepted"), commandId: id }),
  z.object({ ...eventBase, type: z.literal("command-ended"), commandId: id, ...commandOutcome.shape }),
  /** With the operation `ENDED_UNSAFE` in its fault: a program ended, and nothing that it wrote to a watched folder is safe. */
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
    /** The last output of the program. */
    tail: z.string().max(8_192),
  }),
  /**
   * An interruption on this node is over: training continues from `fromStep` (null: from the beginning) after it had reached
   * `lastStep`. When another node takes over, the hub computes the loss itself.
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
    /** The program reports no steps: `lastStep` is estimated from its pace, or unknown (`lostSteps` is 0). */
    isEstimated: z.literal(true).optional(),
  }),
  /**
   * A program did not continue from the checkpoint that it was given: its first step shows that it went on from `fromStep` (null:
   * from the beginning). Sent to hubs with the feature `branch`.
   */
  z.object({
    ...eventBase,
    type: z.literal("began-elsewhere"),
    run: runName,
    writerEpoch,
    given: z.object({ epoch: anyEpoch, step }),
    fromStep: step.nullable(),
    /** Where the checkpoint lies on the node. */
    path: z.string().max(1024),
    /** The first checkpoint that the program wrote itself; absent while it has written none. */
    wrote: z.string().max(1024).optional(),
    /** The event was sent before, without `wrote`. */
    isAgain: z.literal(true).optional(),
  }),
]);
export type NodeEvent = z.infer<typeof nodeEvent>;
/** An event before the outbox assigns its number and time. */
export type NodeEventBody = NodeEvent extends infer E ? (E extends NodeEvent ? Omit<E, "seq" | "at"> : never) : never;

export const recordInput = z.object({ events: z.array(nodeEvent).min(1).max(100) });
