import * as z from "zod";
import { addressText } from "../base/bounded.ts";
import { bucketPrefix, objectKey, type Protection } from "./bucket.ts";
import type { FaultData } from "../faults/fault.ts";
import { id } from "../base/names.ts";

/**
 * Many objects copied, moved, deleted or brought back by the hub. First a plan: which objects, by key and ETag, how many bytes, what is
 * protected, what it takes. A person confirms the plan by its id, and exactly what it names is touched, as it was then.
 */

export const BUCKET_ACTIONS = ["copy", "move", "delete", "revive"] as const;
export const bucketAction = z.enum(BUCKET_ACTIONS);
export type BucketAction = z.infer<typeof bucketAction>;

export const BUCKET_JOB_STATES = [
  "planning",
  "planned",
  "waiting",
  "running",
  "done",
  "failed",
  "cancelled",
  "expired",
] as const;
export type BucketJobState = (typeof BUCKET_JOB_STATES)[number];

/** Which moves are legal; a running job of a hub that ended is running still. */
const MOVES: Readonly<Record<BucketJobState, readonly BucketJobState[]>> = {
  planning: ["planned", "failed", "cancelled"],
  planned: ["waiting", "expired", "cancelled"],
  waiting: ["running", "cancelled"],
  running: ["done", "failed", "cancelled"],
  done: [],
  failed: [],
  cancelled: [],
  expired: [],
};

/** The states from which `to` may be reached. */
export const bucketJobStatesBefore = (to: BucketJobState): BucketJobState[] =>
  BUCKET_JOB_STATES.filter((from) => MOVES[from].includes(to));
export const isBucketJobOver = (state: BucketJobState): boolean => MOVES[state].length === 0;

/** Objects of one plan: more of them are several plans. */
export const MOST_PLANNED = 250_000;
/** A plan is of the moment: after this it is made anew. */
export const PLAN_LASTS_MS = 15 * 60_000;

export const planBucketJobInput = z.object({
  profileId: id,
  action: bucketAction,
  /** The folder it is done from: names below it stay as they are. Empty or ending with `/`. */
  from: bucketPrefix.refine((value) => value === "" || value.endsWith("/"), "a folder is empty or ends with '/'"),
  /**
   * Single objects, and prefixes with all that is below; each begins with `from`. To bring back: one version of each key, an
   * older object, or the mark of a deletion that is the newest.
   */
  items: z
    .array(
      z.union([
        z.object({ key: objectKey }).strict(),
        z.object({ prefix: bucketPrefix }).strict(),
        z.object({ key: objectKey, versionId: addressText(1024).min(1) }).strict(),
      ]),
    )
    .min(1)
    .max(5_000),
  /** Where copies go: a folder of the same bucket; null for a deletion and for what is brought back. */
  target: bucketPrefix
    .refine((value) => value === "" || value.endsWith("/"), "a folder is empty or ends with '/'")
    .nullable(),
});
export type PlanBucketJob = z.infer<typeof planBucketJobInput>;

export const listBucketJobsInput = z.object({ profileId: id.nullable() });

/** Objects that the plan leaves out, because they are Tidemark's own. */
export interface ProtectedGroup extends Protection {
  objects: number;
  bytes: number;
  firstKey: string;
}

/** What a plan found. */
export interface BucketPlan {
  objects: number;
  bytes: number;
  /** Nothing of these is moved or deleted. */
  kept: { objects: number; bytes: number; groups: ProtectedGroup[]; groupsOmitted: number };
  /** Objects whose target would be themselves, and versions that are what their key has already. */
  samePlace: number;
  /** Of versions that are brought back; other plans have none. */
  revived?: {
    /** Older versions that are copied on top. */
    copies: number;
    /** Deletions that are taken back. */
    undeleted: number;
    /** Objects that are the newest now, and would be old versions. */
    covered: number;
  };
  /** The first keys. */
  sample: string[];
  requests: number;
  /** By the prices of the profile or its provider; null without any. */
  cost: { amount: number; currency: "USD" | "EUR" } | null;
  /** The bucket keeps what is deleted as versions; null where the store does not say. */
  keepsVersions: boolean | null;
}

export interface BucketJobView {
  id: string;
  profileId: string;
  profileName: string;
  bucket: string;
  action: BucketAction;
  state: BucketJobState;
  from: string;
  target: string | null;
  /** Null while it is made. */
  plan: BucketPlan | null;
  /** While the plan is made: objects found so far. */
  foundObjects: number;
  doneObjects: number;
  doneBytes: number;
  /** Objects that stayed as they were, and why: the first of them. */
  failedObjects: number;
  faults: { key: string; fault: FaultData }[];
  /** Why it ended, or what it waits for. */
  fault: FaultData | null;
  startedBy: string;
  plannedAt: number;
  startedAt: number | null;
  endedAt: number | null;
}
