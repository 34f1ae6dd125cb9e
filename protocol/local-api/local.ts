import type { CheckpointRole } from "../checkpoint/checkpoint.ts";
import * as z from "zod";
import type { CommandDetail } from "../wire/commands.ts";
import { checkpointRole } from "../checkpoint/checkpoint.ts";
import type { LineBranch } from "../checkpoint/line-branch.ts";
import type { FolderLine } from "../checkpoint/folder-lines.ts";
import { runName, step } from "../base/names.ts";
import type { ShownPlace } from "../checkpoint/place.ts";
import { rankOf } from "../wire/restoring.ts";
import { tensorPatterns } from "../checkpoint/tensor-choice.ts";
import type { Risk } from "../wire/risk.ts";
import type { RunBacklog, TransferProgress } from "../wire/reports.ts";
import type { TransferState } from "../wire/transfer.ts";

/**
 * The worker's local API for programs on its node: JSON over HTTP/1.1, on a unix socket or on loopback. Fields are only ever
 * added. A fault is answered with its HTTP status and the body `{"fault": {"code", "sentence"}}`.
 */

const path = z.string().min(1).max(4096).startsWith("/", "an absolute path");
/** Optional when the worker writes exactly one run. */
const run = runName.optional();

/** `POST /v1/save`: captures a finished checkpoint now. With `wait` the answer comes when the checkpoint is safe. */
export const saveInput = z.strictObject({
  path,
  run,
  step: step.optional(),
  wait: z.boolean().default(false),
  priority: z.enum(["low", "normal", "high"]).default("normal"),
});
export interface SaveAnswer {
  /** Id of the checkpoint; null when it was taken earlier and its transfer has ended. */
  id: string | null;
  run: string;
  step: number;
  state: TransferState;
  sizeBytes: number;
  files: number;
  /** Only this node's piece of the step, which is safe when the pieces of all nodes are there. */
  isPiece?: true;
}

/** `POST /v1/flush`: answers when every checkpoint that is finished by now is safe. */
export const flushInput = z.strictObject({ run, timeoutMs: z.number().int().min(1).max(86_400_000).optional() });

/**
 * `POST /v1/restore`: writes the newest complete checkpoint (or the one of `step`) to `path`; `dryRun` only reports what
 * that would do. `only` (globs) and `rank` select files; `tensors` (patterns) selects tensors of safetensors files. A
 * damaged or archived newest checkpoint is skipped unless `fallback` is false.
 */
export const restoreInput = z.strictObject({
  run,
  step: step.optional(),
  /** Restores the final model instead of a checkpoint. */
  role: checkpointRole.optional(),
  path,
  only: z.array(z.string().min(1).max(1024)).max(256).default([]),
  rank: rankOf.optional(),
  tensors: tensorPatterns.optional(),
  dryRun: z.boolean().default(false),
  fallback: z.boolean().default(true),
});
export interface RestoreAnswer {
  run: string;
  step: number;
  path: string;
  /** Where it lies in its watched folder; null where that is not known. Absent from older workers. */
  place?: ShownPlace | null;
  /** How it was written to `path`. Absent from older workers. */
  kind?: ShownPlace["kind"] | undefined;
  checkpointId: string;
  /** Step of the newest checkpoint when it was skipped, because it is damaged or archived; else null. */
  passedOver: number | null;
  /** Why it was skipped; null when it was not. */
  passedOverWhy: "damaged" | "archived" | null;
  /** Set when another node wrote the checkpoint and `pickles` of its files run code when loaded; else null. */
  foreign: { node: string; pickles: number } | null;
  /** Why it may not be whole; null when it is, as far as its files tell. Absent from older workers. */
  doubt?: string | null;
}
export type PreviewAnswer = Omit<RestoreAnswer, "passedOver" | "passedOverWhy" | "foreign" | "doubt"> & {
  preview: CommandDetail;
};

/** `POST /v1/step`: reports how far training has come. */
export const stepInput = z.strictObject({ run, step });

/** `POST /v1/begin`: reports the first `step` of a program that `tidemark run` did not start. */
export const beginInput = z.strictObject({ run, step });

/** `POST /v1/record`: returns the file into which the program writes its last step. */
export const recordInput = z.strictObject({ run });
export interface RecordAnswer {
  run: string;
  path: string;
  /** Version of the file format. */
  version: number;
}

/**
 * `POST /v1/steer`: pauses, resumes, retries or cancels uploads of a step, of a run, or all. A pause of a run or of all also
 * applies to later uploads, until it is resumed.
 */
export const steerInput = z.strictObject({
  wish: z.enum(["pause", "resume", "retry", "cancel"]),
  run,
  step: step.optional(),
});
export interface SteerAnswer {
  /** Number of uploads concerned. */
  uploads: number;
}

/** `GET /v1/state`. */
export interface LocalState {
  /** Checkpoints that are not safe yet. */
  pending: number;
  /** Why the newest checkpoint is not safe, when there is a reason. */
  error: string | null;
}

/** Whether the uplink can carry the checkpoints of a run as often as it saves. */
export interface Sustain {
  /** Shortest interval between checkpoints of this size that the uplink can sustain. */
  leastIntervalMs: number;
  /** Rate of finished uploads, else of the running one, else as measured or remembered. */
  bytesPerSecond: number;
  canSustain: boolean;
}

export interface LocalRun extends RunBacklog {
  risk: Risk;
  /** Time until every capture of the run is safe, at the present rate and after the uploads ahead of it; null while unknown. */
  etaMs: number | null;
  sustain: Sustain | null;
  /** Whether a person paused its uploads. */
  isHeld: boolean;
  /** Its watched folders. Absent from older workers. */
  folders?: string[];
  /** Where the newest safe checkpoint lies in its folder; null: nothing is safe, or an older worker noted it. */
  safePlace?: ShownPlace | null;
  /** Where the run branches off, when it is a new line of training; null: it is none. Absent from older workers. */
  branch?: LineBranch | null;
}

/** `GET /v1/status`. */
export interface LocalStatus extends LocalState {
  node: string;
  version: string;
  /** `says`: what the worker asks and whether it answers, for a person; left out by a worker of an earlier version. */
  hub: { url: string; isUp: boolean; says?: string };
  /** Other nodes that write below the same prefix without a hub, as they were found within the last minutes. None with a hub. */
  otherWriters?: { run: string; node: string }[];
  /** Epoch ms. */
  at: number;
  store: { profile: string; bucket: string; endpoint: string } | null;
  upBytesPerSecond: number;
  downBytesPerSecond: number;
  rttMs: number | null;
  runs: LocalRun[];
  /** Unfinished transfers, at most 64. */
  transfers: TransferProgress[];
  /** Folders with checkpoints in each watched folder, latest write first; at most 64. Absent from older workers. */
  lines?: (FolderLine & { run: string })[];
  /** Checkpoints that the worker moved aside in watched folders, and that a person must decide about; at most 64. */
  aside: LocalAside[];
  /** Checkpoints kept since the worker's start although they may be incomplete, with the reason. Absent from older workers. */
  doubtful?: { run: string; step: number; why: string; role?: CheckpointRole }[];
  /** Steps written by several nodes that lack a piece. Absent when none does, or when the hub is away. */
  openPieces?: { run: string; step: number; why: string }[];
  /** Watched folders whose captures go to a disk with much less space. Absent from older workers. */
  smallDisks?: { folder: string; says: string; fix: string }[];
}

/** A checkpoint that the program must not continue from; it was moved aside and kept. */
export interface LocalAside {
  path: string;
  /** Its name before the move. */
  name: string;
  sizeBytes: number;
  files: number;
  /** Time of the newest write to its files, epoch ms; 0 without a file. */
  writtenAt: number;
}
