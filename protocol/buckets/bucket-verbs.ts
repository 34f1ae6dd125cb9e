import type { BucketAction } from "./bucket-jobs.ts";

/** What pages and the hub say of actions in buckets, without the schemas that only the hub needs. */

/** As the record of who did what, and faults, name them. */
export const BUCKET_VERBS: Readonly<Record<BucketAction, string>> = {
  copy: "copy",
  move: "move",
  delete: "delete",
  revive: "bring back",
};

/** After these something is not where it was. */
export const takesAway = (action: BucketAction): boolean => action === "move" || action === "delete";
