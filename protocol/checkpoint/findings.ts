import * as z from "zod";
import { damageReport } from "./damage.ts";
import { id, runName } from "../base/names.ts";

/**
 * Result of reading a checkpoint back, stored as an immutable object in its bucket. A hub that lost its database learns from
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
  ]),
});
export type Finding = z.infer<typeof finding>;
