import * as z from "zod";
import { id, writerEpoch } from "../base/names.ts";
import type { NodeStore } from "../wire/hello.ts";
import { operation, SIGN_BATCH } from "../wire/operations.ts";
import type { JobInput } from "./job-places.ts";
import { attemptNumber, takeJobInput } from "./node-jobs.ts";

/** Bytes that a node moves for an attempt beside its checkpoints. The hub signs requests for what the job names, nothing else. */

/** Attempt and epoch null: the job that `node.nextJob` told the node of, whose inputs it may read. */
const attempt = { jobId: id, attempt: attemptNumber.nullable(), epoch: writerEpoch.nullable() };
const index = z.number().int().min(0).max(15);
const place = z.discriminatedUnion("kind", [
  z.object({ kind: z.literal("input"), index }),
  z.object({ kind: z.literal("output"), index }),
]);
/** An input or output of a job, by its number in the job. */
export type JobPlacePart = z.infer<typeof place>;

/** `node.signForJob`: signs requests of a node for an attempt that it has the lease of. */
export const signForJobInput = z.object({
  ...attempt,
  /** `log`: parts of the program's output, in the node's own bucket. */
  part: z.discriminatedUnion("kind", [z.object({ kind: z.literal("log") }), ...place.options]),
  operations: z.array(operation).min(1).max(SIGN_BATCH),
});
export type JobPart = z.infer<typeof signForJobInput>["part"];

/** `node.readJobPlace`: tells where an input or output lies, and page by page which objects an input has. */
export const readJobPlaceInput = z.object({
  ...attempt,
  part: place,
  /** `next` of the page before. */
  from: z.string().max(4_096).nullable().default(null),
});

/** An object of an input. */
export interface InputObject {
  key: string;
  sizeBytes: number;
  /** With its quotes. */
  etag: string;
  modifiedAt: number;
}

export interface JobPlaceAnswer {
  store: NodeStore;
  /** Empty for an output. Objects in Tidemark's own folders are left out. */
  objects: InputObject[];
  next: string | null;
}

/** `node.nextJob`: asks which job of a queue the node would be handed next, to fetch its inputs before. */
export const nextJobInput = takeJobInput.pick({ queue: true, gpuMemoryBytes: true, diskBytes: true });

export interface NextJobAnswer {
  /** Null when none waits for this node, or the next one has no inputs. */
  job: { id: string; name: string; inputs: readonly JobInput[] } | null;
}
