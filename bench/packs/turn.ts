import { z } from "zod";

export const measuredTurn = z.object({
  way: z.enum(["file by file", "packed"]),
  round: z.number(),
  /** From its first request until it is safe. */
  saveSeconds: z.number(),
  /** From the folder's having its name until it is safe: also seeing that it is finished, and securing it. */
  seenToSafeSeconds: z.number(),
  /** From the wish until the folder has its name. */
  restoreSeconds: z.number(),
  /** Requests to the store for data, both ways. */
  puts: z.number(),
  gets: z.number(),
});
export type MeasuredTurn = z.infer<typeof measuredTurn>;

export const measuredTurns = z.array(measuredTurn);
