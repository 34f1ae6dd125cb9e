import * as z from "zod";
import { id, runName } from "../base/names.ts";
import type { TransferRow } from "./views.ts";

/** Verification and restore drills: inputs and answers. */

export const verifyInput = z.object({
  /** Made by the client, so that a repeated request verifies once. */
  requestId: id,
  checkpointId: id,
  /** Null: an idle node of the same bucket profile. */
  nodeId: id.nullable().default(null),
  /** Home whose copy is read; absent: the default copy. */
  profileId: id.optional(),
});

const DAY_MS = 86_400_000;
/** 0: never; else from once a day to once in ninety days. */
const everyMs = z.union([
  z.literal(0),
  z
    .number()
    .int()
    .min(DAY_MS, "a drill comes once a day at most")
    .max(90 * DAY_MS, "a drill comes once in 90 days at least"),
]);

export const setDrillInput = z.object({
  /** Null: the default for all runs without their own setting. */
  run: runName.nullable(),
  /** Null: the run follows the default. */
  everyMs: everyMs.nullable(),
});
export const drillsInput = z.object({ run: runName });

/** Restore drills of one run. */
export interface DrillView {
  run: string;
  /** 0: never. */
  everyMs: number;
  /** Whether the setting is the run's own or the default. */
  setFor: "run" | "all";
  /** The default for runs without their own setting. */
  usualMs: number;
  /** Newest first. */
  last: TransferRow[];
  /** Time of the next drill; null when drills are off. */
  nextAt: number | null;
  /** Reason why a due drill has not started. */
  waitsFor: string | null;
}
