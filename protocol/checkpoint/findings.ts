import * as z from "zod";
import { doubt } from "./checkpoint.ts";
import { damageReport } from "./damage.ts";
import { id, runName } from "../base/names.ts";

/**
 * Result of reading a checkpoint back, or a later doubt of its node, stored as an immutable object in its bucket. A hub that lost its database learns from
 * it which checkpoints were verified and which are damaged. The latest finding counts; `verified` also ends an earlier
 * damage.
 */
export const finding = z.object({
  format: z.literal("tidemark.finding"),
  version: z.literal(1),
  id,
  run: runName,
  checkpointId: id,
  /** Epoch ms by the hub's clock. */
  at: z.number().int().min(0).max(8_640_000_000_000_000),
  found: z.discriminatedUnion("kind", [
    z.object({ kind: z.literal("verified") }),
    z.object({ kind: z.literal("damaged"), report: damageReport }),
    /** Its node learned after the commit that files of its step are missing. It ends no damage, and nothing ends it. */
    z.object({ kind: z.literal("doubtful"), why: doubt }),
  ]),
});
export type Finding = z.infer<typeof finding>;
