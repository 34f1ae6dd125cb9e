import type { KeepsVersions } from "../base/kept-versions.ts";
import * as z from "zod";
import { byteCount, instant, rowVersion } from "../base/bounded.ts";
import { id, runName } from "../base/names.ts";
import { MOST_NOTE_LETTERS, TAG, TAG_WORDS } from "./keep-limits.ts";
import type { FaultData } from "../faults/fault.ts";

/**
 * Retention records: what people and the hub decided about keeping a checkpoint. Each record is one small immutable object
 * in the bucket, under a key that is never signed for a node. A lost database can therefore be rebuilt from a listing.
 * Nothing is overwritten: a later record revokes an earlier one by naming it in `ends`. An unreadable object counts as a
 * pin.
 */

const DAY_MS = 86_400_000;
/** Default time that a checkpoint stays in the trash. */
export const USUAL_TRASH_MS = 7 * DAY_MS;

/** A short name for one checkpoint of a run: `best`, `release-1`. */
export const tagName = z.string().regex(TAG, TAG_WORDS);

const noteText = z
  .string()
  .max(MOST_NOTE_LETTERS, `a note has at most ${MOST_NOTE_LETTERS} letters`)
  .refine((text) => text.isWellFormed(), "it is not valid Unicode")
  // A database may end a text at its first NUL, so control characters are refused.
  .refine((text) => !/[\u0000-\u0008\u000b\u000c\u000e-\u001f\u007f]/.test(text), "it has control characters");

export const keepRecord = z.object({
  format: z.literal("tidemark.keeping"),
  version: z.literal(1),
  id,
  run: runName,
  checkpointId: id,
  /** Epoch ms by the hub's clock. */
  at: instant,
  /** Author of the record. */
  by: z.string().max(320),
  /** Earlier records of the same run that this one revokes. */
  ends: z.array(id).max(1_000),
  word: z.discriminatedUnion("kind", [
    z.object({ kind: z.literal("pin") }),
    z.object({ kind: z.literal("tag"), tag: tagName }),
    z.object({ kind: z.literal("note"), text: noteText.min(1) }),
    /** `until`: end of the time in which it can be restored from the trash. `why`: shown to people. */
    z.object({ kind: z.literal("trash"), until: instant, why: z.string().max(256) }),
    /** Only revokes earlier records. */
    z.object({ kind: z.literal("end") }),
  ]),
});
export type KeepRecord = z.infer<typeof keepRecord>;

/** Retention policy of a run. A rule that is null keeps no checkpoint. Without any rule, all checkpoints stay. */
export const keepPolicy = z.object({
  /** Keeps this many of the newest. */
  last: z.number().int().min(1).max(100_000).nullable(),
  /** Keeps the first of each interval of this many steps. */
  everySteps: z.number().int().min(1).max(999_999_999_999).nullable(),
  /** Keeps the first of each interval of time. */
  everyMs: z
    .number()
    .int()
    .min(60_000)
    .max(3_660 * DAY_MS)
    .nullable(),
  best: z
    .object({
      metric: z.string().trim().min(1, "name a metric that the training writes").max(64),
      want: z.enum(["min", "max"]),
      count: z.number().int().min(1).max(10_000),
    })
    .nullable(),
  /** Size limit: the oldest of the kept checkpoints go until the rest fits. Protected ones never go. */
  mostBytes: byteCount.min(1).nullable(),
  trashMs: z
    .number()
    .int()
    .min(DAY_MS, "the trash keeps for a day or more")
    .max(366 * DAY_MS, "the trash keeps for a year at most")
    .default(USUAL_TRASH_MS),
});
export type KeepPolicy = z.infer<typeof keepPolicy>;

/** A policy without any rule keeps everything. */
export const NO_RULES: KeepPolicy = {
  last: null,
  everySteps: null,
  everyMs: null,
  best: null,
  mostBytes: null,
  trashMs: USUAL_TRASH_MS,
};

export const checkpointTag = z.object({ id, tag: tagName });
/** An empty text removes the note. */
export const checkpointNote = z.object({ id, text: noteText });
/** `run` null: the default policy for all runs without their own. */
export const policyOf = z.object({ run: runName.nullable() });
/** `policy` null: the run follows the default policy, and the default keeps everything. A stale `version` is refused. */
export const setPolicyInput = policyOf.extend({ policy: keepPolicy.nullable(), version: rowVersion });
export const previewInput = policyOf.extend({ policy: keepPolicy.nullable() });
export const emptyTrashInput = z.object({ ids: z.array(id).min(1).max(1_000) });

/** Retention state of one checkpoint. */
export interface CheckpointKeeping {
  isPinned: boolean;
  tags: string[];
  /** Untrusted text. */
  note: string | null;
  trash: TrashState | null;
}

export interface TrashState {
  at: number;
  by: string;
  why: string;
  /** End of the time in which it can be restored from the trash; then the hub deletes it. */
  until: number;
  /** Whether its deletion has begun, so that it can no longer be restored. */
  isBeingDeleted: boolean;
  /** Why it was not deleted although its time is over. */
  fault: FaultData | null;
}

export const KEPT_NOWHERE: CheckpointKeeping = { isPinned: false, tags: [], note: null, trash: null };

export interface TrashRow extends TrashState {
  checkpointId: string;
  run: string;
  step: number;
  writerEpoch: number;
  sizeBytes: number;
}

export interface PolicyView {
  /** Null: the default policy. */
  run: string | null;
  policy: KeepPolicy | null;
  /** 0 while the policy was never set. */
  version: number;
  updatedAt: number | null;
  updatedBy: string | null;
}

export interface RunPolicyView {
  own: PolicyView;
  usual: PolicyView;
  /** Names of metrics in the complete checkpoints of the run. */
  metrics: string[];
}

/** Why a checkpoint stays or goes. */
export type KeepReason =
  | {
      kind:
        | "newest"
        | "whole"
        | "only"
        | "newest-there"
        | "newest-in-folder"
        | "line"
        | "pinned"
        | "verified"
        | "restoring"
        | "uploading"
        | "parent";
    }
  | { kind: "passed-over"; step: number }
  | { kind: "tagged"; tags: readonly string[] }
  | { kind: "brought-back" | "no-rule" | "room" }
  | { kind: "last"; count: number }
  | { kind: "steps"; every: number }
  | { kind: "time"; everyMs: number }
  | { kind: "best"; rank: number; metric: string }
  | { kind: "unneeded" }
  | { kind: "bytes"; mostBytes: number };

export interface PreviewRow {
  id: string;
  step: number;
  writerEpoch: number;
  sizeBytes: number;
  capturedAt: number;
  fate: "stays" | "goes";
  because: KeepReason[];
}

/** Effect of a policy on one run now. Sizes in bytes; `rows` has all checkpoints, newest first. */
export interface RunPreview {
  run: string;
  stays: number;
  goes: number;
  stayBytes: number;
  freedBytes: number;
  rows: PreviewRow[];
}

export interface AppliedView {
  trashed: number;
  freedBytes: number;
  /** First fault of the checkpoints that could not be moved to the trash; null when all were. */
  fault: FaultData | null;
}

/** Whether a bucket keeps deleted objects as old versions. */
export interface KeptVersionsView {
  bucket: string;
  keepsVersions: KeepsVersions;
}

export interface EmptiedView {
  /** Number of checkpoints whose deletion has begun. */
  begun: number;
  /** Numbers of those that stay: written less than 25 hours ago, pinned in the bucket, no longer in the trash. */
  tooYoung: number;
  kept: number;
  gone: number;
}
