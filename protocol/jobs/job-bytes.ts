import * as z from "zod";
import { id, writerEpoch } from "../base/names.ts";
import { operation, SIGN_BATCH } from "../wire/operations.ts";
import { attemptNumber } from "./node-jobs.ts";

/** Bytes that a node moves for an attempt beside its checkpoints. The hub signs requests for what the job names, nothing else. */

/** `node.signForJob`: signs requests of a node for an attempt that it has the lease of. */
export const signForJobInput = z.object({
  jobId: id,
  attempt: attemptNumber,
  epoch: writerEpoch,
  /** `log`: parts of the program's output, in the node's own bucket. */
  part: z.discriminatedUnion("kind", [z.object({ kind: z.literal("log") })]),
  operations: z.array(operation).min(1).max(SIGN_BATCH),
});
export type JobPart = z.infer<typeof signForJobInput>["part"];
