import {
  AbortMultipartUploadCommand,
  CompleteMultipartUploadCommand,
  CopyObjectCommand,
  CreateMultipartUploadCommand,
  HeadObjectCommand,
  type S3Client,
  UploadPartCopyCommand,
} from "@aws-sdk/client-s3";
import { Fault, isFault } from "#protocol/faults/fault.ts";
import { forEachOf } from "#protocol/base/for-each-of.ts";
import type { StoreTraits } from "#protocol/wire/operations.ts";
import { quoteEtag } from "../answers/check-range.ts";
import { faultOfSdk } from "../answers/faults.ts";
import { NONCE_METADATA } from "../signing/signing.ts";
import { encodeKey } from "../signing/sigv4.ts";

/**
 * Copies an object inside one bucket without downloading it. The source is pinned by its ETag, so the intended version is
 * copied. Only a copy of an older version may overwrite a target. A target that an earlier attempt of this copy made
 * counts as success. CopyObject is used up to 5 GiB. Larger objects, and those whose ETag CopyObject would change, are
 * copied by ranges in a multipart upload with the nonce.
 */

export interface CopyWithin {
  bucket: string;
  source: string;
  /** An older version of the source. It may be copied onto its own key: a bucket with versioning keeps the newest version too. */
  version?: string;
  target: string;
  sizeBytes: number;
  /** With its quotes. */
  etag: string;
  /** Identifies this copy in later attempts. At most 64 characters. */
  nonce: string;
  traits: StoreTraits;
  signal: AbortSignal;
  /** Largest size for CopyObject. Default: the protocol's limit; tests lower it. */
  largestWholeBytes?: number;
}

const GIB = 1024 ** 3;
const LARGEST_WHOLE_BYTES = 5 * GIB;
/** Large, because no byte crosses the client's link. */
const RANGE_BYTES = GIB / 2;
const AT_A_TIME = 4;

async function sent<T>(
  call: Promise<T>,
  about: { op: string; copy: Pick<CopyWithin, "signal">; subject: string },
): Promise<T> {
  const { op, copy, subject } = about;
  try {
    return await call;
  } catch (error) {
    if (copy.signal.aborted) throw new Fault("CANCELLED", { op, subject });
    const fault = faultOfSdk(error, { op, subject });
    // The only condition of these requests is the source's ETag.
    throw fault.code === "ALREADY_EXISTS" && op.includes("Copy") ? new Fault("OBJECT_CHANGED", fault.context) : fault;
  }
}

const sourceOf = ({ bucket, source, version }: CopyWithin): string =>
  `${bucket}/${encodeKey(source)}${version === undefined ? "" : `?versionId=${encodeURIComponent(version)}`}`;

async function headOf(
  client: S3Client,
  copy: Pick<CopyWithin, "bucket" | "signal">,
  at: { key: string; version?: string | undefined },
) {
  const op = "HeadObject";
  const { key } = at;
  const command = new HeadObjectCommand({ Bucket: copy.bucket, Key: key, VersionId: at.version });
  try {
    return await sent(client.send(command, { abortSignal: copy.signal }), { op, copy, subject: key });
  } catch (error) {
    if (isFault(error) && error.code === "NO_SUCH_KEY") return null;
    throw error;
  }
}

/**
 * Tells what has the target key: this copy, made by an earlier attempt; another object; or nothing (null). The copy is recognized
 * by its size with either the ETag of the source or the nonce. Rejects with CANCELLED and Faults of the store.
 */
export async function findCopy(
  client: S3Client,
  copy: Omit<CopyWithin, "source" | "traits">,
): Promise<"copy" | "another" | null> {
  const there = await headOf(client, copy, { key: copy.target });
  if (there === null) return null;
  const isSame = there.ETag !== undefined && quoteEtag(there.ETag) === copy.etag;
  const isOurs = there.Metadata?.[NONCE_METADATA] === copy.nonce;
  return (isSame || isOurs) && there.ContentLength === copy.sizeBytes ? "copy" : "another";
}

/**
 * Copies the object, or finds the finished copy. Rejects with ALREADY_EXISTS when another object has the target key,
 * OBJECT_CHANGED, NO_SUCH_KEY, SIZE_MISMATCH, CANCELLED, and Faults of the store.
 */
export async function copyWithin(client: S3Client, copy: CopyWithin): Promise<void> {
  const { bucket, source, target, sizeBytes, etag, signal } = copy;
  const there = await findCopy(client, copy);
  if (there === "copy") return;
  if (there === "another" && copy.version === undefined)
    throw new Fault("ALREADY_EXISTS", { op: "CopyObject", subject: target });
  const largest = copy.largestWholeBytes ?? LARGEST_WHOLE_BYTES;
  if (sizeBytes > largest || (etag.includes("-") && sizeBytes > 0)) await copyInRanges(client, copy);
  else {
    const command = new CopyObjectCommand({
      Bucket: bucket,
      Key: target,
      CopySource: sourceOf(copy),
      CopySourceIfMatch: etag,
    });
    await sent(client.send(command, { abortSignal: signal }), { op: "CopyObject", copy, subject: source });
  }
  const arrived = await headOf(client, copy, { key: target });
  if (arrived?.ContentLength !== sizeBytes) {
    const detail = `the copy has ${arrived?.ContentLength ?? 0} bytes of ${sizeBytes}`;
    throw new Fault("SIZE_MISMATCH", { op: "CopyObject", subject: target, detail });
  }
}

/** Returns the number of requests for a copy of this size. Pure. */
export const copyRequests = (sizeBytes: number, etag: string): number =>
  sizeBytes > LARGEST_WHOLE_BYTES || etag.includes("-") ? 4 + Math.ceil(sizeBytes / RANGE_BYTES) : 3;

async function copyInRanges(client: S3Client, copy: CopyWithin): Promise<void> {
  const { bucket, source, target, sizeBytes, etag, nonce, traits, signal } = copy;
  const head = await headOf(client, copy, { key: source, version: copy.version });
  if (head === null) throw new Fault("NO_SUCH_KEY", { op: "CopyObject", subject: source });
  const at = { Bucket: bucket, Key: target };
  const create = new CreateMultipartUploadCommand({
    ...at,
    ContentType: head.ContentType,
    ContentDisposition: head.ContentDisposition,
    ContentEncoding: head.ContentEncoding,
    ContentLanguage: head.ContentLanguage,
    CacheControl: head.CacheControl,
    Metadata: { ...head.Metadata, [NONCE_METADATA]: nonce },
  });
  const made = await sent(client.send(create, { abortSignal: signal }), {
    op: "CreateMultipartUpload",
    copy,
    subject: target,
  });
  const upload = { ...at, UploadId: made.UploadId };
  try {
    const least = Math.max(traits.minPartBytes, Math.ceil(sizeBytes / traits.maxParts));
    const rangeBytes = Math.min(
      Math.max(least, Math.min(RANGE_BYTES, copy.largestWholeBytes ?? RANGE_BYTES)),
      traits.maxPartBytes,
    );
    const starts = Array.from({ length: Math.ceil(sizeBytes / rangeBytes) }, (_, index) => index * rangeBytes);
    const parts: { PartNumber: number; ETag: string }[] = [];
    await forEachOf([...starts.entries()], AT_A_TIME, async ([index, start]) => {
      const command = new UploadPartCopyCommand({
        ...upload,
        PartNumber: index + 1,
        CopySource: sourceOf(copy),
        CopySourceIfMatch: etag,
        CopySourceRange: `bytes=${start}-${Math.min(sizeBytes, start + rangeBytes) - 1}`,
      });
      const about = { op: "UploadPartCopy", copy, subject: source };
      const { CopyPartResult: result } = await sent(client.send(command, { abortSignal: signal }), about);
      if (result?.ETag === undefined)
        throw new Fault("UNEXPECTED_ANSWER", { op: about.op, subject: source, detail: "no ETag in the answer" });
      parts.push({ PartNumber: index + 1, ETag: result.ETag });
    });
    const Parts = parts.toSorted((a, b) => a.PartNumber - b.PartNumber);
    const complete = new CompleteMultipartUploadCommand({ ...upload, MultipartUpload: { Parts } });
    await sent(client.send(complete, { abortSignal: signal }), {
      op: "CompleteMultipartUpload",
      copy,
      subject: target,
    });
  } catch (error) {
    // Best effort, without the signal: the original error is what counts.
    await client.send(new AbortMultipartUploadCommand(upload)).catch(() => undefined);
    throw error;
  }
}
