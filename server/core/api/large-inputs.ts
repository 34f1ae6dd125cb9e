import * as z from "zod";
import { storedManifest, tellSumsInput } from "#protocol/checkpoint/adopted.ts";
import { finishUploadsInput } from "#protocol/buckets/browser-transfers.ts";
import { planBucketJobInput } from "#protocol/buckets/bucket-jobs.ts";
import { commitInput } from "#protocol/checkpoint/checkpoint.ts";
import { importKelpieInput } from "#protocol/jobs/kelpie.ts";
import { submitJobsInput } from "#protocol/jobs/job-views.ts";
import { commitCopyInput } from "#protocol/wire/homes.ts";
import { captureAnnouncement, recordInput } from "#protocol/wire/reports.ts";
import { previewRestoreInput, startRestoresInput } from "#protocol/wire/restoring.ts";

/**
 * The procedures whose inputs may be large. Parsing and checking 50,000 files would block the event loop for a third of a
 * second, so bodies above `PARSED_HERE_BYTES` are read in a thread.
 */

const MIB = 1024 * 1024;
/** Up to this size, parsing on the main thread takes a few milliseconds. */
export const PARSED_HERE_BYTES = MIB / 4;

export interface LargeInput {
  schema: z.ZodType;
  mostBytes: number;
}

/** Stands for a procedure's name when a manifest of the hub's own database is parsed. */
export const STORED_MANIFEST = "stored manifest";

/** Stands for a procedure's name when a body of the Kelpie-compatible API is parsed. Its jobs are checked one by one. */
export const KELPIE_BODY = "kelpie body";

const OTHERS: ReadonlyMap<string, z.ZodType> = new Map<string, z.ZodType>([
  [STORED_MANIFEST, storedManifest],
  [KELPIE_BODY, z.unknown()],
]);

export const schemaOf = (path: string): z.ZodType | null => OTHERS.get(path) ?? LARGE_INPUTS.get(path)?.schema ?? null;

export const LARGE_INPUTS: ReadonlyMap<string, LargeInput> = new Map([
  ["node.commit", { schema: commitInput, mostBytes: 64 * MIB }],
  ["node.commitCopy", { schema: commitCopyInput, mostBytes: 64 * MIB }],
  ["node.announce", { schema: captureAnnouncement, mostBytes: 64 * MIB }],
  ["node.tellSums", { schema: tellSumsInput, mostBytes: 64 * MIB }],
  ["node.record", { schema: recordInput, mostBytes: 4 * MIB }],
  ["jobs.submit", { schema: submitJobsInput, mostBytes: 4 * MIB }],
  ["jobs.importKelpie", { schema: importKelpieInput, mostBytes: 4 * MIB }],
  ["bucket.plan", { schema: planBucketJobInput, mostBytes: 4 * MIB }],
  ["browserTransfers.finish", { schema: finishUploadsInput, mostBytes: 4 * MIB }],
  ["restores.start", { schema: startRestoresInput, mostBytes: 4 * MIB }],
  ["restores.preview", { schema: previewRestoreInput, mostBytes: 4 * MIB }],
]);
