import type { BucketAction } from "./bucket-jobs.ts";

/** Names of actions in buckets for pages and the hub, without the schemas that only the hub needs. */

/** Verbs for the audit log and for faults. */
export const BUCKET_VERBS: Readonly<Record<BucketAction, string>> = {
  copy: "copy",
  move: "move",
  delete: "delete",
  revive: "bring back",
};

/** Returns whether the action removes objects from their place. */
export const takesAway = (action: BucketAction): boolean => action === "move" || action === "delete";
