import * as z from "zod";
import { id } from "../base/names.ts";

/** Contents and cost of a bucket from the hub's own records (manifests and history), without a listing. */

export const bucketUsageInput = z.object({ profileId: id });

/** The largest runs are listed up to this number; the rest are summed in `others`. */
export const MOST_USAGE_RUNS = 100;

export interface RunUsage {
  run: string;
  checkpoints: number;
  /** Checkpoints among them that are in the trash and still take up space. */
  trashed: number;
  objects: number;
  bytes: number;
  /** Epoch ms. */
  newestAt: number | null;
}

export interface UsageDay {
  /** Start of the day (UTC), epoch ms. */
  from: number;
  /** Bytes that nodes uploaded on that day. */
  cameBytes: number;
  /** Bytes still stored of the checkpoints that were completed on that day. */
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
  /** Traffic of those days. */
  moved: { days: number; upBytes: number; downBytes: number; writes: number; reads: number };
  /** Estimate for a month: the present contents, and traffic and requests as in those days. Null without a storage price. */
  cost: {
    currency: string;
    storage: number;
    egress: number;
    requests: number;
    total: number;
    /** Price for one GB (10^9 bytes) and month. */
    perGbMonth: number;
    /** Free egress in such a month. */
    freeDownBytes: number;
    hasOwnPrices: boolean;
    /** The provider's price list. */
    source: string | null;
  } | null;
}
