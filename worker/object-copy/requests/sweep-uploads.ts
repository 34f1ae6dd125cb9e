import { readListParts } from "#storage/s3/answers.ts";
import { callStore } from "#worker/transfer/engine.ts";
import type { LostCreate } from "#worker/transfer/upload/send-job.ts";
import { abandonUpload } from "#worker/transfer/upload/send.ts";
import type { Bench } from "#worker/store-session/store-session.ts";
import { listUploads } from "../listing/list-uploads.ts";

/** Nobody waits longer for a store to be tidied up. */
const LONGEST_MS = 10_000;
/** No request that was given up arrives later than this. */
const MOST_LATE_MS = 60_000;
/** The store's dates may be cut to seconds. */
const SLACK_MS = 2_000;

/**
 * Ends uploads that a Create began whose answer was lost: those of exactly this key that the store says it began in the
 * time before ours in which we asked, or within a minute after it, and that nobody has sent a part of: what we gave up may be
 * slower than what we asked next. All by the store's own clock, and so narrow because somebody else may be sending to the same
 * key. Best effort: an orphan only wastes space. Never throws.
 */
export async function sweepUploads(bench: Bench, lost: LostCreate & { signal: AbortSignal }): Promise<void> {
  const { engine } = bench;
  const { key, uploadId, withinMs } = lost;
  const signal = AbortSignal.any([lost.signal, AbortSignal.timeout(LONGEST_MS)]);
  try {
    // Every key that begins with it is listed, and it is the first of them.
    const uploads = (await listUploads(bench, { prefix: key, signal })).filter((upload) => upload.key === key);
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
    // What was not swept now is of no harm to the object.
  }
}
