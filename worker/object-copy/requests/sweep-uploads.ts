import { readListParts } from "#storage/s3/answers.ts";
import { callStore } from "#worker/transfer/engine.ts";
import type { LostCreate } from "#worker/transfer/upload/send-job.ts";
import { abandonUpload } from "#worker/transfer/upload/send.ts";
import type { StoreSession } from "#worker/store-session/store-session.ts";
import { listUploads } from "../listing/list-uploads.ts";

/** Longest time to spend on cleaning up. */
const LONGEST_MS = 10_000;
/** Latest time after which an abandoned request may still reach the store. */
const MOST_LATE_MS = 60_000;
/** Tolerance for stores that truncate dates to seconds. */
const SLACK_MS = 2_000;

/**
 * Aborts orphaned multipart uploads: a CreateMultipartUpload was retried because its answer was lost, but took effect.
 * Candidates have exactly this key, no parts, and a start time shortly before the upload in use, or up to a minute after
 * it, because the lost request may be slower than its retry. All times are the store's. The window is narrow because another
 * process may be uploading to the same key. Best effort: an orphan only wastes space. Never throws.
 */
export async function sweepUploads(
  storeSession: StoreSession,
  lost: LostCreate & { signal: AbortSignal },
): Promise<void> {
  const { engine } = storeSession;
  const { key, uploadId, withinMs } = lost;
  const signal = AbortSignal.any([lost.signal, AbortSignal.timeout(LONGEST_MS)]);
  try {
    // The listing has all keys with this prefix, in which this key itself sorts first.
    const uploads = (await listUploads(storeSession, { prefix: key, signal })).filter((upload) => upload.key === key);
    const ours = uploads.find((upload) => upload.uploadId === uploadId);
    if (ours === undefined) return;
    const from = ours.beganAtMs - withinMs - SLACK_MS;
    const to = ours.beganAtMs + Math.min(withinMs, MOST_LATE_MS) + SLACK_MS;
    for (const other of uploads) {
      if (other === ours || other.beganAtMs < from || other.beganAtMs > to) continue;
      const operation = { op: "parts", key, uploadId: other.uploadId, after: 0 } as const;
      const { parts } = await callStore(engine, { operation, signal }, readListParts);
      if (parts.length === 0) await abandonUpload(engine, { key, uploadId: other.uploadId, signal });
    }
  } catch {
    // Remaining orphans do not affect the object.
  }
}
