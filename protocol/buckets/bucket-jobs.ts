import type { KeepsVersions } from "../base/kept-versions.ts";
import * as z from "zod";
import { addressText } from "../base/bounded.ts";
import { bucketPrefix, objectKey, type Protection } from "./bucket.ts";
import type { FaultData } from "../faults/fault.ts";
import { id } from "../base/names.ts";

/**
 * The hub copies, moves, deletes or restores many objects. First it makes a plan: the objects by key and ETag, their bytes,
 * what is protected, and the cost. A person confirms the plan by its id. Then exactly the objects of the plan are changed,
 * each only if it is still the same.
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

/** Legal transitions. A running job survives a restart of the hub and stays `running`. */
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

/** Returns the states from which `to` may be reached. */
export const bucketJobStatesBefore = (to: BucketJobState): BucketJobState[] =>
  BUCKET_JOB_STATES.filter((from) => MOVES[from].includes(to));
export const isBucketJobOver = (state: BucketJobState): boolean => MOVES[state].length === 0;

/** Largest number of objects in one plan; more need several plans. */
export const MOST_PLANNED = 250_000;
/** Lifetime of a plan; after that a new one must be made. */
export const PLAN_LASTS_MS = 15 * 60_000;

export const planBucketJobInput = z.object({
  profileId: id,
  action: bucketAction,
  /** Folder that the job starts from; names below it stay as they are. Empty or ending with `/`. */
  from: bucketPrefix.refine((value) => value === "" || value.endsWith("/"), "a folder is empty or ends with '/'"),
  /**
   * Single objects, and prefixes with everything below; each begins with `from`. For `revive`: one version of each key,
   * either an older object or the delete marker that is the newest version.
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
  /** Target folder in the same bucket; null for `delete` and `revive`. */
  target: bucketPrefix
    .refine((value) => value === "" || value.endsWith("/"), "a folder is empty or ends with '/'")
    .nullable(),
});
export type PlanBucketJob = z.infer<typeof planBucketJobInput>;

export const listBucketJobsInput = z.object({ profileId: id.nullable() });

/** Objects that the plan leaves out because they belong to Tidemark. */
export interface ProtectedGroup extends Protection {
  objects: number;
  bytes: number;
  firstKey: string;
}

/** Result of planning. */
export interface BucketPlan {
  objects: number;
  bytes: number;
  /** Protected objects, which are neither moved nor deleted. */
  kept: { objects: number; bytes: number; groups: ProtectedGroup[]; groupsOmitted: number };
  /** Objects that would be copied onto themselves, and versions that are already the newest. */
  samePlace: number;
  /** Counts for `revive`; absent in other plans. */
  revived?: {
    /** Older versions that are copied to become the newest. */
    copies: number;
    /** Delete markers that are removed. */
    undeleted: number;
    /** Objects that are the newest now and will become older versions. */
    covered: number;
  };
  /** The first keys. */
  sample: string[];
  requests: number;
  /** By the prices of the profile or its provider; null when there are none. */
  cost: { amount: number; currency: "USD" | "EUR" } | null;
  keepsVersions: KeepsVersions;
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
  /** Null while the plan is made. */
  plan: BucketPlan | null;
  /** Objects found so far, while the plan is made. */
  foundObjects: number;
  doneObjects: number;
  doneBytes: number;
  /** Number of objects that stayed unchanged; `faults` has the first of them with the reasons. */
  failedObjects: number;
  faults: { key: string; fault: FaultData }[];
  /** Why the job ended, or what it waits for. */
  fault: FaultData | null;
  startedBy: string;
  plannedAt: number;
  startedAt: number | null;
  endedAt: number | null;
}
