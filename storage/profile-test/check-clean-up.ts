import { toFault } from "#protocol/faults/fault.ts";
import type { LeftBehind } from "#protocol/wire/profile-views.ts";
import { readAbort } from "../s3/answers.ts";
import { perform, type Bench } from "./check-bench.ts";
import { listUploads } from "../s3/listing.ts";
import { deleteObject } from "../s3/objects.ts";

/** Removes everything that the profile test may have created, and reports what could not be removed. */

type Task = Pick<LeftBehind, "kind" | "key" | "uploadId"> & { work: () => Promise<unknown> };

/** Attempts per removal: a temporary fault is retried once, a permanent one is not. */
const TRIES = 2;

async function openUploads(bench: Bench): Promise<Map<string, string>> {
  const open = new Map(bench.uploadsStarted);
  try {
    const at = { bucket: bench.access.bucket, prefix: bench.scratch.folder };
    for await (const { key, uploadId } of listUploads(bench.client, at)) open.set(uploadId, key);
  } catch {
    // Uploads with known ids are still removed. One whose create answer was lost cannot be found.
  }
  return open;
}

async function remove({ kind, key, uploadId, work }: Task): Promise<LeftBehind | null> {
  for (let tries = 1; ; tries++) {
    try {
      await work();
      return null;
    } catch (error) {
      const fault = toFault(error);
      if (kind === "upload" && fault.code === "NO_SUCH_UPLOAD") return null;
      if (fault.retry === "never" || tries >= TRIES) return { kind, key, uploadId, fault: fault.toData() };
    }
  }
}

/** Removes everything and returns what is left. Never throws. */
export async function cleanUp(bench: Bench): Promise<LeftBehind[]> {
  const { client, written } = bench;
  const { bucket } = bench.access;
  // When nothing was created, an unusable store gets no further requests.
  if (bench.hopeless !== null && written.size === 0 && bench.uploadsStarted.size === 0) return [];
  const uploads = [...(await openUploads(bench))].map(([uploadId, key]): Task => ({
    kind: "upload",
    key,
    uploadId,
    work: async () => readAbort(await perform(bench, { op: "abort", key, uploadId }), key),
  }));
  const objects = [...written].map((key): Task => ({
    kind: "object",
    key,
    uploadId: null,
    work: () => deleteObject(client, { bucket, key }),
  }));
  const left = await Promise.all([...uploads, ...objects].map(remove));
  return left.filter((one) => one !== null);
}
