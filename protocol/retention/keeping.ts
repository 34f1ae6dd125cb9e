import * as z from "zod";
import { byteCount, instant, rowVersion } from "../base/bounded.ts";
import { id, runName } from "../base/names.ts";
import { MOST_NOTE_LETTERS, TAG, TAG_WORDS } from "./keep-limits.ts";
import type { FaultData } from "../faults/fault.ts";

/**
 * What people and the hub say about keeping a checkpoint. Each word is one small immutable object in the bucket, under a
 * key of its own that no node can be signed for, so that a lost database is read again from a listing. Nothing is
 * overwritten: a word is taken back by a later one that names it in `ends`. An object that cannot be read counts as a pin.
 */

const DAY_MS = 86_400_000;
/** How long a checkpoint lies in the trash where nobody said otherwise. */
export const USUAL_TRASH_MS = 7 * DAY_MS;

/** A short name for one checkpoint of a run: `best`, `release-1`. */
export const tagName = z.string().regex(TAG, TAG_WORDS);

const noteText = z
  .string()
  .max(MOST_NOTE_LETTERS, `a note has at most ${MOST_NOTE_LETTERS} letters`)
  .refine((text) => text.isWellFormed(), "it is not valid Unicode")
  // Control characters are refused: a database may end a text at its first NUL.
  .refine((text) => !/[\u0000-\u0008\u000b\u000c\u000e-\u001f\u007f]/.test(text), "it has control characters");

export const keepRecord = z.object({
  format: z.literal("tidemark.keeping"),
  version: z.literal(1),
  id,
  run: runName,
  checkpointId: id,
  /** Epoch ms by the hub's clock. */
  at: instant,
  /** Who said it. */
  by: z.string().max(320),
  /** Earlier words of the same run that this one takes back. */
  ends: z.array(id).max(1_000),
  word: z.discriminatedUnion("kind", [
    z.object({ kind: z.literal("pin") }),
    z.object({ kind: z.literal("tag"), tag: tagName }),
    z.object({ kind: z.literal("note"), text: noteText.min(1) }),
    /** `until`: it may be brought back so long. `why`: for people. */
    z.object({ kind: z.literal("trash"), until: instant, why: z.string().max(256) }),
    /** Only takes back. */
    z.object({ kind: z.literal("end") }),
  ]),
});
export type KeepRecord = z.infer<typeof keepRecord>;

/** What is kept of a run. A rule that is null keeps nothing by itself; without any rule everything stays. */
export const keepPolicy = z.object({
  /** The newest so many. */
  last: z.number().int().min(1).max(100_000).nullable(),
  /** The first of each stretch of so many steps. */
  everySteps: z.number().int().min(1).max(999_999_999_999).nullable(),
  /** The first of each stretch of time. */
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
  /** Of what the other rules keep, the oldest go until it fits. Never goes before protection. */
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
/** An empty note takes the note away. */
export const checkpointNote = z.object({ id, text: noteText });
/** `run` null: the policy of all runs that have none of their own. */
export const policyOf = z.object({ run: runName.nullable() });
/** `policy` null: the run goes by the default, the default keeps everything. `version` refuses a change made on an old view. */
export const setPolicyInput = policyOf.extend({ policy: keepPolicy.nullable(), version: rowVersion });
export const previewInput = policyOf.extend({ policy: keepPolicy.nullable() });
export const emptyTrashInput = z.object({ ids: z.array(id).min(1).max(1_000) });

/** What is said about one checkpoint now. */
export interface CheckpointKeeping {
  isPinned: boolean;
  tags: string[];
  /** A stranger's text. */
  note: string | null;
  trash: TrashState | null;
}

export interface TrashState {
  at: number;
  by: string;
  why: string;
  /** It may be brought back so long; then the hub deletes it. */
  until: number;
  /** Its deletion has begun: it cannot be brought back. */
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
  /** Null: the default. */
  run: string | null;
  policy: KeepPolicy | null;
  /** 0 while it was never set. */
  version: number;
  updatedAt: number | null;
  updatedBy: string | null;
}

export interface RunPolicyView {
  own: PolicyView;
  usual: PolicyView;
  /** Names of metrics that complete checkpoints of the run carry. */
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
        | "line"
        | "pinned"
        | "verified"
        | "restoring"
        | "uploading"
        | "parent";
    }
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

/** What a policy would do to one run now. Sizes in bytes; `rows` newest first, all of them. */
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
  /** Those that could not be moved: the first of the faults. */
  fault: FaultData | null;
}

/** Whether a bucket keeps what is deleted as an old version; null where its store does not say. */
export interface KeptVersionsView {
  bucket: string;
  keepsVersions: boolean | null;
}

export interface EmptiedView {
  /** How many are being deleted now. */
  begun: number;
  /** How many stay, and why: written less than 25 hours ago, pinned in the bucket, or not in the trash any more. */
  tooYoung: number;
  kept: number;
  gone: number;
}
