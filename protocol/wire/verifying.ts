import * as z from "zod";
import { id, runName } from "../base/names.ts";
import type { TransferRow } from "./views.ts";

/** Reading checkpoints back, and rehearsing restores: what people ask for and what they see. */

export const verifyInput = z.object({
  /** Made by the client, so that a repeated request reads it once. */
  requestId: id,
  checkpointId: id,
  /** Null: an idle node of the same bucket profile. */
  nodeId: id.nullable().default(null),
  /** The copy in this home; left out: the one that is read where nobody says otherwise. */
  profileId: id.optional(),
});

const DAY_MS = 86_400_000;
/** Never, or from every day to once in ninety days. */
const everyMs = z.union([
  z.literal(0),
  z
    .number()
    .int()
    .min(DAY_MS, "a drill comes once a day at most")
    .max(90 * DAY_MS, "a drill comes once in 90 days at least"),
]);

export const setDrillInput = z.object({
  /** Null: all runs that have no setting of their own. */
  run: runName.nullable(),
  /** Null: as all the others. */
  everyMs: everyMs.nullable(),
});
export const drillsInput = z.object({ run: runName });

/** Restore drills of one run. */
export interface DrillView {
  run: string;
  /** 0: never. */
  everyMs: number;
  /** Of this run, or of all that have no setting of their own. */
  setFor: "run" | "all";
  /** Of all that have no setting of their own. */
  usualMs: number;
  /** Newest first. */
  last: TransferRow[];
  /** Null while there are none. */
  nextAt: number | null;
  /** It is due, and this is what it waits for. */
  waitsFor: string | null;
}
