import { z } from "zod";

export const measuredTurn = z.object({
  way: z.enum(["file by file", "packed"]),
  round: z.number(),
  /** From the first request of the upload until the checkpoint is safe. */
  saveSeconds: z.number(),
  /** From the moment the folder has its name until it is safe; includes noticing that it is finished, and capturing it. */
  seenToSafeSeconds: z.number(),
  /** From the request until the folder has its name. */
  restoreSeconds: z.number(),
  /** Requests to the store for data: uploads and downloads. */
  puts: z.number(),
  gets: z.number(),
});
export type MeasuredTurn = z.infer<typeof measuredTurn>;

export const measuredTurns = z.array(measuredTurn);
