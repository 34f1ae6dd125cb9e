import * as z from "zod";
import { id } from "../base/names.ts";

/** What lies in a bucket and what that costs, from what the hub itself knows: manifests and history, no listing. */

export const bucketUsageInput = z.object({ profileId: id });

/** Runs that are named, the largest; the others are added up. */
export const MOST_USAGE_RUNS = 100;

export interface RunUsage {
  run: string;
  checkpoints: number;
  /** Of those, in the trash: they still take up their room. */
  trashed: number;
  objects: number;
  bytes: number;
  /** Epoch ms. */
  newestAt: number | null;
}

export interface UsageDay {
  /** The first moment of the day (UTC), epoch ms. */
  from: number;
  /** What nodes sent into it that day. */
  cameBytes: number;
  /** Of the checkpoints that were completed that day, what is still there. */
  keptBytes: number;
  checkpoints: number;
}

export interface BucketUsage {
  at: number;
  stored: { bytes: number; objects: number; checkpoints: number; trashedBytes: number };
  /** Largest first. */
  runs: RunUsage[];
  others: { runs: number; bytes: number; objects: number };
  /** Oldest first; today is the last one. */
  days: UsageDay[];
  /** Of the days that were looked at. */
  moved: { days: number; upBytes: number; downBytes: number; writes: number; reads: number };
  /** A month like those days, of what is stored now. Null where no price for storage is known. */
  cost: {
    currency: string;
    storage: number;
    egress: number;
    requests: number;
    total: number;
    /** For each GB (10^9 bytes) and month. */
    perGbMonth: number;
    /** What leaves in such a month for nothing. */
    freeDownBytes: number;
    hasOwnPrices: boolean;
    /** The provider's price list. */
    source: string | null;
  } | null;
}
