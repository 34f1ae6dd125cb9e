import { randomBytes } from "node:crypto";
import { Fault, isFault, toFault } from "#protocol/faults/fault.ts";
import { forEachOf } from "#protocol/base/for-each-of.ts";
import { completeBody, readComplete, readCreate, type HttpAnswer } from "#storage/s3/answers.ts";
import { quoteEtag } from "#storage/answers/check-range.ts";
import { faultOfAnswer } from "#storage/answers/faults.ts";
import { NONCE_HEADER } from "#storage/signing/signing.ts";
import { encodeKey } from "#storage/signing/sigv4.ts";
import { parseXml, textOf } from "#storage/answers/xml.ts";
import { abandonInTime } from "#worker/transfer/upload/abandon-in-time.ts";
import { callStore } from "#worker/transfer/engine.ts";
import { createPatience, withRetry } from "#worker/transfer/store-session/retry.ts";
import { createProgressCounters, type ProgressCounters } from "#worker/transfer/progress/transfer-progress.ts";
import { mapRows, numbered, type Rows } from "#worker/base/rows.ts";
import { askStore } from "./ask-store.ts";
import type { StoreSession } from "#worker/store-session/store-session.ts";
import { assertReadable, findObject, headObject, type ObjectHead } from "./head.ts";

/**
 * An object to copy inside one store, so that its bytes never cross the link. Objects up to 5 GiB take one CopyObject,
 * larger ones UploadPartCopy of ranges. The source is pinned by its ETag, so that a copy has bytes of a single version. At
 * the end the size of the copy is checked.
 */
export interface ObjectToCopy {
  bucket: string;
  source: string;
  /** Key in the bucket of the store session. */
  key: string;
  sizeBytes: number;
  etag: string | null;
  /** Whether a HEAD has to tell before the copy whether its bytes can be read. Left out: they can. */
  mayBeArchived?: true;
}

export interface CopyJob {
  objects: Rows<ObjectToCopy>;
  signal: AbortSignal;
  onStart(counters: ProgressCounters): void;
  onFileFailed?(object: ObjectToCopy, fault: Fault): "go on" | "stop";
  /** Largest object for one CopyObject; default 5 GiB, the limit of S3. For tests. */
  largestWholeBytes?: number;
}

const GIB = 1024 ** 3;
const LARGEST_WHOLE_BYTES = 5 * GIB;
/** Length of a copied range; large, because a retry sends no bytes over the link. */
const RANGE_BYTES = GIB / 2;

/** Copies objects. @throws Fault OBJECT_CHANGED, NO_SUCH_KEY, SIZE_MISMATCH, those of the store, CANCELLED */
export async function copyObjects(storeSession: StoreSession, job: CopyJob): Promise<ProgressCounters> {
  const { objects, signal } = job;
  const counters = createProgressCounters(
    mapRows(objects, ({ key, sizeBytes }) => ({ path: key, sizeBytes, partCount: 1 })),
    storeSession.engine.retrier.clock.now,
  );
  job.onStart(counters);
  await forEachOf(numbered(objects), storeSession.engine.semaphore.width, async ([fileIndex, object]) => {
    const part = { fileIndex, partIndex: 0, length: object.sizeBytes };
    try {
      counters.part(part, "moving");
      if (object.mayBeArchived === true) await readableSource(storeSession, { object, signal });
      if (object.sizeBytes > (job.largestWholeBytes ?? LARGEST_WHOLE_BYTES))
        await copyInRanges(storeSession, { object, job });
      else await copyWhole(storeSession, { object, signal });
      await assertArrived(storeSession, { object, signal });
      counters.part(part, "kept");
      counters.fileDone();
    } catch (error) {
      counters.part(part, "waiting");
      if (job.onFileFailed?.(object, toFault(error)) !== "go on") throw error;
    }
  });
  return counters;
}

const sourceHeaders = ({ bucket, source, etag }: ObjectToCopy): Record<string, string> => ({
  "x-amz-copy-source": `/${bucket}/${encodeKey(source)}`,
  ...(etag === null ? {} : { "x-amz-copy-source-if-match": etag }),
});

async function copyWhole(
  storeSession: StoreSession,
  about: { object: ObjectToCopy; signal: AbortSignal },
): Promise<void> {
  const { object, signal } = about;
  const op = "CopyObject";
  await askStore(
    storeSession,
    { op, method: "PUT", at: { key: object.key }, headers: sourceHeaders(object), signal },
    (answer) => readCopied(answer, { op, root: "CopyObjectResult", object }),
  );
}

/** Reads the answer to a copy. S3 may answer 200 before the copy is done, and put an error into the body. */
function readCopied(
  answer: HttpAnswer,
  about: { op: string; root: "CopyObjectResult" | "CopyPartResult"; object: ObjectToCopy },
): { etag: string } {
  const { op, root, object } = about;
  const parsed = answer.status === 200 ? parseXml(answer.body) : null;
  if (parsed === null || parsed.root !== root) {
    const fault = faultOfAnswer({ op, subject: object.source, answer });
    // A failed precondition is read as ALREADY_EXISTS, but the only condition here is the source's ETag.
    throw fault.code === "ALREADY_EXISTS" ? new Fault("OBJECT_CHANGED", fault.context) : fault;
  }
  const etag = textOf(parsed.element, "ETag")?.trim() ?? "";
  if (etag === "") {
    throw new Fault("UNEXPECTED_ANSWER", { op, subject: object.source, detail: "no ETag in the answer" });
  }
  return { etag: quoteEtag(etag) };
}

/** Headers that CopyObject keeps by itself, but a multipart copy has to set. */
const KEPT_HEADERS = ["content-type", "content-disposition", "content-encoding", "content-language", "cache-control"];

/** Returns the metadata of the source. @throws Fault OBJECT_ARCHIVED, OBJECT_BEING_RESTORED, those of `headObject` */
async function readableSource(
  storeSession: StoreSession,
  { object, signal }: { object: ObjectToCopy; signal: AbortSignal },
): Promise<ObjectHead> {
  const at = { ...storeSession, access: { ...storeSession.access, bucket: object.bucket } };
  const head = await headObject(at, { key: object.source, signal });
  assertReadable(head, { op: "CopyObject", key: object.source });
  return head;
}

async function copyInRanges(storeSession: StoreSession, about: { object: ObjectToCopy; job: CopyJob }): Promise<void> {
  const { object, job } = about;
  const { signal } = job;
  const { key, sizeBytes } = object;
  const nonce = randomBytes(16).toString("hex");
  const source = await readableSource(storeSession, { object, signal });
  const kept = Object.entries(source.headers).flatMap(([name, value]): [string, string][] =>
    value !== undefined && (KEPT_HEADERS.includes(name) || name.startsWith("x-amz-meta-")) ? [[name, value]] : [],
  );
  const { uploadId } = await askStore(
    storeSession,
    {
      op: "CreateMultipartUpload",
      method: "POST",
      at: { key },
      query: [["uploads", ""]],
      headers: { ...Object.fromEntries(kept), [NONCE_HEADER]: nonce },
      signal,
    },
    (answer) => readCreate(answer, key),
  );
  try {
    const rangeBytes = rangeBytesFor(storeSession, { sizeBytes, most: job.largestWholeBytes });
    const starts = Array.from({ length: Math.ceil(sizeBytes / rangeBytes) }, (_, index) => index * rangeBytes);
    const parts: { partNumber: number; etag: string; crc32: string }[] = [];
    await forEachOf([...starts.entries()], storeSession.engine.semaphore.width, async ([index, start]) => {
      const partNumber = index + 1;
      const end = Math.min(sizeBytes, start + rangeBytes) - 1;
      const query = [
        ["partNumber", String(partNumber)],
        ["uploadId", uploadId],
      ] as const;
      const headers = { ...sourceHeaders(object), "x-amz-copy-source-range": `bytes=${start}-${end}` };
      const op = "UploadPartCopy";
      const { etag } = await askStore(
        storeSession,
        { op, method: "PUT", at: { key }, query, headers, signal },
        (answer) => readCopied(answer, { op, root: "CopyPartResult", object }),
      );
      parts.push({ partNumber, etag, crc32: "" });
    });
    await complete(storeSession, { key, uploadId, nonce, sizeBytes, parts, signal });
  } catch (error) {
    await abandonInTime(storeSession.engine, { key, uploadId });
    throw error;
  }
}

function rangeBytesFor({ access }: StoreSession, about: { sizeBytes: number; most: number | undefined }): number {
  const { maxParts, minPartBytes, maxPartBytes } = access.traits;
  const least = Math.max(minPartBytes, Math.ceil(about.sizeBytes / maxParts));
  return Math.min(Math.max(least, Math.min(RANGE_BYTES, about.most ?? RANGE_BYTES)), maxPartBytes);
}

async function complete(
  storeSession: StoreSession,
  about: {
    key: string;
    uploadId: string;
    nonce: string;
    sizeBytes: number;
    parts: readonly { partNumber: number; etag: string; crc32: string }[];
    signal: AbortSignal;
  },
): Promise<void> {
  const { key, uploadId, nonce, sizeBytes, signal } = about;
  const body = Buffer.from(completeBody(about.parts, { checksum: "none" }));
  const patience = createPatience(storeSession.engine.retrier.clock);
  try {
    await withRetry(storeSession.engine.retrier, { signal, patience }, () =>
      callStore(storeSession.engine, { operation: { op: "complete", key, uploadId }, signal, body }, readComplete),
    );
  } catch (error) {
    // If the answer of an earlier try was lost, the upload no longer exists because it is complete.
    const lost =
      isFault(error) && error.code === "NO_SUCH_UPLOAD" ? await findObject(storeSession, { key, signal }) : null;
    if (lost?.nonce !== nonce || lost.sizeBytes !== sizeBytes) throw error;
  }
}

async function assertArrived(
  storeSession: StoreSession,
  about: { object: ObjectToCopy; signal: AbortSignal },
): Promise<void> {
  const { object, signal } = about;
  const { sizeBytes } = await headObject(storeSession, { key: object.key, signal });
  if (sizeBytes !== object.sizeBytes) {
    const detail = `the copy has ${sizeBytes} bytes of ${object.sizeBytes}`;
    throw new Fault("SIZE_MISMATCH", { op: "CopyObject", subject: object.key, detail });
  }
}
