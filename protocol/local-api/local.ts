import * as z from "zod";
import type { CommandDetail } from "../wire/commands.ts";
import { checkpointRole } from "../checkpoint/checkpoint.ts";
import type { FolderLine } from "../checkpoint/folder-lines.ts";
import { runName, step } from "../base/names.ts";
import { rankOf } from "../wire/restoring.ts";
import { tensorPatterns } from "../checkpoint/tensor-choice.ts";
import type { Risk } from "../wire/risk.ts";
import type { RunBacklog, TransferProgress } from "../wire/reports.ts";
import type { TransferState } from "../wire/transfer.ts";

/**
 * What programs on a node may ask of its worker: JSON over HTTP/1.1, on a unix socket or on loopback. Fields are only ever
 * added. A fault comes with its HTTP status as `{"fault": {"code", "sentence"}}`.
 */

const path = z.string().min(1).max(4096).startsWith("/", "an absolute path");
/** May be left out where the worker writes exactly one run. */
const run = runName.optional();

/** `POST /v1/save`: this checkpoint is finished; take it now. With `wait` the answer comes when it is safe. */
export const saveInput = z.strictObject({
  path,
  run,
  step: step.optional(),
  wait: z.boolean().default(false),
  priority: z.enum(["low", "normal", "high"]).default("normal"),
});
export interface SaveAnswer {
  /** Of the checkpoint; null of one that was taken earlier and has ended since. */
  id: string | null;
  run: string;
  step: number;
  state: TransferState;
  sizeBytes: number;
  files: number;
}

/** `POST /v1/flush`: answers when everything that is finished by now is safe. */
export const flushInput = z.strictObject({ run, timeoutMs: z.number().int().min(1).max(86_400_000).optional() });

/**
 * `POST /v1/restore`: puts the newest complete checkpoint (or the one of `step`) at `path`; with `dryRun` it says what that
 * would do. `only` (globs) and `rank` choose files, `tensors` (patterns) what of safetensors files is taken. A newest one that is damaged is passed over unless `fallback` is false.
 */
export const restoreInput = z.strictObject({
  run,
  step: step.optional(),
  /** In place of a checkpoint: the final model. */
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
  checkpointId: string;
  /** Step of the newest one, when that turned out damaged; null when it is the one. */
  passedOver: number | null;
  /** The node that wrote it, when it is another one and so many files of it run code when they are loaded; else null. */
  foreign: { node: string; pickles: number } | null;
}
export type PreviewAnswer = Omit<RestoreAnswer, "passedOver" | "foreign"> & { preview: CommandDetail };

/** `POST /v1/step`: how far training has come. */
export const stepInput = z.strictObject({ run, step });

/** `POST /v1/begin`: a program begins that `tidemark run` did not start; `step` is the first that it says. */
export const beginInput = z.strictObject({ run, step });

/** `POST /v1/record`: the file in which a program writes its last step itself. */
export const recordInput = z.strictObject({ run });
export interface RecordAnswer {
  run: string;
  path: string;
  /** Of its form. */
  version: number;
}

/**
 * `POST /v1/steer`: pauses, resumes, tries again or cancels uploads: those of a step, of a run, or all. What is paused for a
 * run or for all holds for those that come later too, until it is resumed.
 */
export const steerInput = z.strictObject({
  wish: z.enum(["pause", "resume", "retry", "cancel"]),
  run,
  step: step.optional(),
});
export interface SteerAnswer {
  /** Uploads that follow the wish. */
  uploads: number;
}

/** `GET /v1/state`. */
export interface LocalState {
  /** Checkpoints that are not safe yet. */
  pending: number;
  /** Why the newest one is not, when there is a reason. */
  error: string | null;
}

/** Whether a run saves more often than the uplink can carry. */
export interface Sustain {
  /** Shortest time between two checkpoints of this size that the uplink keeps up with. */
  leastIntervalMs: number;
  /** Of uploads that ended, else of the one that runs, else as it was measured or is remembered. */
  bytesPerSecond: number;
  canSustain: boolean;
}

export interface LocalRun extends RunBacklog {
  risk: Risk;
  /** Until everything captured of it is safe, at the rate of now, with what goes before it; null while that is not known. */
  etaMs: number | null;
  sustain: Sustain | null;
  /** A person paused its uploads. */
  isHeld: boolean;
}

/** `GET /v1/status`. */
export interface LocalStatus extends LocalState {
  node: string;
  version: string;
  hub: { url: string; isUp: boolean };
  /** Epoch ms. */
  at: number;
  store: { profile: string; bucket: string; endpoint: string } | null;
  upBytesPerSecond: number;
  downBytesPerSecond: number;
  rttMs: number | null;
  runs: LocalRun[];
  /** Those that have not ended, at most 64. */
  transfers: TransferProgress[];
  /** The folders with checkpoints in each watched folder, what is trained now first; at most 64. A worker of an earlier version says nothing of it. */
  lines?: (FolderLine & { run: string })[];
  /** What was moved out of the program's sight in watched folders, and waits for a person; at most 64. */
  aside: LocalAside[];
  /** What was kept safe since its start although it may not be whole, and why. A worker of an earlier version says nothing of it. */
  doubtful?: { run: string; step: number; why: string }[];
  /** Steps of runs that several nodes write of which not all pieces are there. Absent where nothing is missing, or the hub is away. */
  openPieces?: { run: string; step: number; why: string }[];
  /** Captures of these watched folders go to a disk with much less room. A worker of an earlier version says nothing of it. */
  smallDisks?: { folder: string; says: string; fix: string }[];
}

/** A checkpoint that the program must not go on from, moved aside and kept. */
export interface LocalAside {
  path: string;
  /** What it was called. */
  name: string;
  sizeBytes: number;
  files: number;
  /** When its newest file was written, epoch ms; 0 without a file. */
  writtenAt: number;
}
