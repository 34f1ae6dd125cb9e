import type { Extent } from "#protocol/checkpoint/checkpoint.ts";
import { Fault, isFault } from "#protocol/faults/fault.ts";
import type { FaultCode } from "#protocol/faults/fault-table.ts";
import { forEachOf } from "#protocol/base/for-each-of.ts";
import type { Operation } from "#protocol/wire/operations.ts";
import { completeBody, readAbort, readComplete, readCreate } from "#storage/s3/answers.ts";
import { adoptObject, adoptParts } from "./adopt-parts.ts";
import { callSummed } from "../store-session/call-summed.ts";
import { callStore, warmUp, type Engine } from "../engine.ts";
import { findOurs, lookForOurs, verifySent } from "./find-ours.ts";
import { MOST_LANES } from "#worker/base/for-each.ts";
import { withRetry } from "../store-session/retry.ts";
import { attempting, type SendJob, type SendRequests } from "./send-job.ts";
import { isDone, type PartToSend, sendPart, sumAhead } from "./send-part.ts";
import { sendSmall, smallPartOf, type SentSmall } from "./send-small.ts";
import { openFileSource, type SendSource } from "./send-source.ts";

/**
 * Sends one file to one object. Each acknowledged part is recorded at once, so a killed process resumes the same upload at
 * the first missing part. An object counts as sent only when HEAD shows it with the right size and our own nonce, whatever
 * the answers before said. Only a small object whose very first answer proves that it is stored needs no HEAD.
 */

/** How often a file may start over with a new upload id. */
const MOST_UPLOADS = 3;
/** Faults of a Complete that may have succeeded anyway. */
const IN_DOUBT: ReadonlySet<FaultCode> = new Set(["NO_SUCH_UPLOAD", "ALREADY_EXISTS", "NO_SUCH_KEY"]);

/**
 * Sends a file; returns its extents, in order. An empty file needs no object and has none.
 * Faults: SOURCE_CHANGED, READ_FAILED, those of the store, CANCELLED.
 */
export async function sendFile(engine: Engine, job: SendJob): Promise<Extent[]> {
  if (job.plan.parts.length === 0) return [];
  for (const part of job.plan.parts) if (job.memory.parts.has(part.partNumber)) job.watch.onPart(part, "kept");
  if (job.memory.sentEtag !== null) return extentsOf(job, job.memory.sentEtag);
  const small = smallPartOf(engine, job);
  const sent = small === null ? "left" : await sendSmall(engine, job, small);
  if (typeof sent === "object") {
    return finish(engine, job, { etag: await etagOfSmall(engine, job, sent), crc32: sent.crc32 });
  }
  const source = await (job.open ?? (() => openFileSource(job)))();
  try {
    const whole = job.plan.parts.length === 1;
    const { etag, crc32 } = whole
      ? await sendWhole(engine, job, { source, wasTried: sent === "tried" })
      : { etag: await sendParts(engine, job, source), crc32: undefined };
    await source.assertUnchanged();
    return await finish(engine, job, { etag, crc32 });
  } finally {
    await source.close();
  }
}

/** Records that the object is verified, and returns its extents. `crc32`: as in `sendWhole`. */
async function finish(
  engine: Engine,
  job: SendJob,
  { etag, crc32 }: { etag: string; crc32: string | undefined },
): Promise<Extent[]> {
  await job.memory.finish(etag, crc32);
  engine.signatures.forget({ op: "head", key: job.key });
  return extentsOf(job, etag);
}

function extentsOf(job: SendJob, etag: string): Extent[] {
  return job.plan.parts.map((part) => {
    const sent = job.memory.parts.get(part.partNumber);
    if (sent === undefined)
      throw new Fault("INTERNAL", { op: "send", subject: job.key, detail: "a part was not remembered" });
    return { key: job.key, offset: part.offset, length: part.length, crc32: sent.crc32, etag };
  });
}

/** Returns the ETag of a small object. If its answer proved nothing, records the part first and then verifies the object. */
async function etagOfSmall(engine: Engine, job: SendJob, { etag, crc32, isSure }: SentSmall): Promise<string> {
  if (isSure) return etag;
  await job.memory.acknowledge(1, { etag, crc32 });
  return verifySent(engine, job);
}

export const NOTHING_AHEAD = { of: () => Promise.resolve(null) };

/** Sends a file of a single part as one object. `crc32`: of a part that was not recorded. */
export async function sendWhole(
  engine: Engine,
  job: SendRequests,
  { source, wasTried }: { source: SendSource; wasTried: boolean },
): Promise<{ etag: string; crc32: string | undefined }> {
  const part = job.plan.parts[0];
  if (part === undefined) throw new Fault("INTERNAL", { op: "send", subject: job.key });
  const wasSent = job.memory.parts.has(part.partNumber);
  if (wasSent) {
    const etag = await lookForOurs(engine, job);
    if (etag !== null) return { etag, crc32: undefined };
    job.watch.onPart(part, "waiting");
  }
  const sent = await sendPart(engine, job, { part, source, ahead: NOTHING_AHEAD });
  await sent.remembered;
  const crc32 = isDone(job, sent) ? sent.crc32 : undefined;
  return { etag: sent.isSure && !wasSent && !wasTried ? sent.etag : await verifySent(engine, job), crc32 };
}

async function sendParts(engine: Engine, job: SendJob, source: SendSource): Promise<string> {
  // Completion does not wait for the journal of the last parts: a completed upload never resumes from it.
  let forgot: unknown = null;
  let remembered: Promise<void> = Promise.resolve();
  const remember = (part: Promise<void>) => {
    remembered = part.catch((error: unknown) => {
      forgot ??= error;
    });
  };
  const assertRemembered = () => {
    if (forgot !== null) throw forgot;
  };
  for (let uploads = 1; ; uploads++) {
    await openAhead(engine, job);
    const ahead = sumAhead(engine, job, source);
    try {
      await ensureUpload(engine, job, { source, ahead });
      const missing = job.plan.parts.filter((part) => !job.memory.parts.has(part.partNumber));
      await forEachOf(missing, MOST_LANES, async (part) => {
        assertRemembered();
        remember((await sendPart(engine, job, { part, source, ahead })).remembered);
      });
      assertRemembered();
      await source.assertUnchanged();
      await sweepLost(job);
      const etag = await completeUpload(engine, job);
      // The journal is written in order: when the last record is on disk, all are.
      await remembered;
      assertRemembered();
      return etag;
    } catch (error) {
      if (!isFault(error) || error.code !== "NO_SUCH_UPLOAD" || uploads >= MOST_UPLOADS) throw error;
      // The Complete may have been done by an earlier process, or by a request whose answer was lost.
      const etag = await lookForOurs(engine, job);
      if (etag === null) await beginUpload(engine, job);
      else {
        await adoptObject(engine, { job, source, ahead }, etag);
        return etag;
      }
    } finally {
      await ahead.stop();
    }
  }
}

/**
 * Ends uploads that were begun by lost Creates. Our own upload must still exist, because the store's list tells when it
 * began.
 */
export async function sweepLost({ key, memory, sweep }: Pick<SendJob, "key" | "memory" | "sweep">): Promise<void> {
  const { uploadId, lostWithinMs } = memory;
  if (uploadId !== null && lostWithinMs !== null) await sweep?.({ key, uploadId, withinMs: lostWithinMs });
}

/** Opens connections for the parts while the store still works on the Create. */
async function openAhead(engine: Engine, job: SendJob): Promise<void> {
  const missing = job.plan.parts.length - job.memory.parts.size;
  await warmUp(engine, { op: "head", key: job.key }, { count: missing, size: "large" });
}

/** Starts a new multipart upload and records it. */
export async function beginUpload(engine: Engine, job: SendRequests): Promise<void> {
  const { key, nonce } = job;
  const { signal } = job.watch;
  const firstTryMs = Date.now();
  let tries = 0;
  const onAgain = () => {
    tries++;
  };
  const upload = await withRetry(engine.retrier, attempting(job), () => {
    tries++;
    return callSummed(
      engine,
      (checksum) => ({ operation: { op: "create", key, nonce, checksum }, signal, onAgain }),
      ({ answer, subject, checksum }) => ({ ...readCreate(answer, subject), checksum }),
    );
  });
  for (const part of job.plan.parts) if (job.memory.parts.has(part.partNumber)) job.watch.onPart(part, "waiting");
  await job.memory.begin(tries > 1 ? { ...upload, firstTryMs } : upload);
}

/** Resumes the known upload, or begins one. */
async function ensureUpload(engine: Engine, job: SendJob, from: Pick<PartToSend, "source" | "ahead">): Promise<void> {
  const { uploadId, isFresh, parts } = job.memory;
  if (uploadId === null) await beginUpload(engine, job);
  else if (!isFresh && parts.size < job.plan.parts.length) await adoptParts(engine, { ...from, job, uploadId });
}

/** Completes the upload, with retries until the object is known to exist; returns its ETag. Faults: those of the store. */
export async function completeUpload(engine: Engine, job: SendRequests): Promise<string> {
  const { uploadId, checksum: begunWith } = job.memory;
  if (uploadId === null) throw new Fault("NO_SUCH_UPLOAD", { op: "complete", subject: job.key });
  const parts = job.plan.parts.map((part) => {
    const sent = job.memory.parts.get(part.partNumber);
    if (sent === undefined)
      throw new Fault("INTERNAL", { op: "complete", subject: job.key, detail: "a part is missing" });
    return { partNumber: part.partNumber, ...sent };
  });
  // A store that keeps checksums expects the kind here that Create named, and no other.
  const isRecorded = engine.store.checksum === "crc32" && (begunWith === null || begunWith === "crc32");
  const body = Buffer.from(completeBody(parts, { checksum: isRecorded ? "crc32" : "none" }));
  const operation: Operation = { op: "complete", key: job.key, uploadId };
  let inDoubt = false;
  await withRetry(engine.retrier, attempting(job), async () => {
    // The answer before was lost or unclear: the store may have completed the upload.
    if (inDoubt && (await findOurs(engine, job)) !== null) return;
    try {
      await callStore(engine, { operation, signal: job.watch.signal, body }, readComplete);
    } catch (error) {
      if (!isFault(error) || (error.retry === "never" && !IN_DOUBT.has(error.code))) throw error;
      inDoubt = true;
      if (IN_DOUBT.has(error.code) && (await findOurs(engine, job)) !== null) return;
      throw error;
    }
  });
  return verifySent(engine, job);
}

/** Ends an upload that nobody will finish. Best effort: an orphan only wastes space until the hub sweeps it. */
export async function abandonUpload(
  engine: Engine,
  about: { key: string; uploadId: string; signal: AbortSignal },
): Promise<void> {
  const operation: Operation = { op: "abort", key: about.key, uploadId: about.uploadId };
  await callStore(engine, { operation, signal: about.signal }, readAbort);
}
