/**
 * Multipart uploads: create, parts, part copies, list, complete, abort. An acknowledged part stays until the upload ends.
 * Complete is one transaction that moves no bytes, so it is atomic, and a refused Complete leaves the upload unchanged.
 */
import { createHash, randomBytes } from "node:crypto";
import { integerQuery, requireBucket, sweep, type Call, type Store } from "./call.ts";
import type { Segment, StoredObject } from "./catalog-objects.ts";
import {
  abortUpload,
  completeUpload,
  createUpload,
  findUpload,
  listParts,
  putPart,
  type Part,
  type Upload,
} from "./catalog-uploads.ts";
import {
  checksumElement,
  checksumHeader,
  joinChecksums,
  readAlgorithm,
  type Checksum,
  type ChecksumAlgorithm,
  type ChecksumType,
} from "./checksum.ts";
import { planCompletion } from "./plan-completion.ts";
import { objectHeaders } from "./object-headers.ts";
import { readRange } from "./ranges.ts";
import { receiveBlob, receiveDocument, type ReceivedBlob } from "./receive.ts";
import { emptyReply, xmlReply, type Reply } from "./reply.ts";
import { S3Error } from "./s3-error.ts";
import { checkWrite, copySource, etagFor, receiveCopy } from "./write-object.ts";
import { branch, leaf } from "./xml.ts";

const MAX_COMPLETE_DOCUMENT_BYTES = 8 * 1024 * 1024;

function requireUpload(store: Store, call: Call): Upload {
  requireBucket(store, call.bucket);
  const id = call.request.query.get("uploadId") ?? "";
  const upload = findUpload(store.database, { bucket: call.bucket, key: call.key, id });
  if (upload === undefined) {
    throw new S3Error(
      "NoSuchUpload",
      "The specified upload does not exist. The upload ID may be invalid, or the upload may have been aborted or completed.",
      { fields: { UploadId: id } },
    );
  }
  return upload;
}

function declaredType(call: Call, algorithm: ChecksumAlgorithm | undefined): ChecksumType | undefined {
  const text = call.headers.get("x-amz-checksum-type")?.toUpperCase();
  if (algorithm === undefined) {
    if (text !== undefined) throw new S3Error("InvalidRequest", "x-amz-checksum-type needs x-amz-checksum-algorithm.");
    return undefined;
  }
  if (text !== undefined && text !== "COMPOSITE" && text !== "FULL_OBJECT") {
    throw new S3Error("InvalidRequest", "Value for x-amz-checksum-type header is invalid.");
  }
  const type = text ?? (algorithm === "CRC64NVME" ? "FULL_OBJECT" : "COMPOSITE");
  const allowed = type === "COMPOSITE" ? algorithm !== "CRC64NVME" : !algorithm.startsWith("SHA");
  if (!allowed) {
    throw new S3Error(
      "InvalidRequest",
      `The ${type} checksum type cannot be used with the ${algorithm} checksum algorithm.`,
    );
  }
  return type;
}

/** Answers CreateMultipartUpload. */
export function createMultipartUpload(store: Store, call: Call): Reply {
  requireBucket(store, call.bucket);
  const algorithm = readAlgorithm(call.headers.get("x-amz-checksum-algorithm"));
  const type = declaredType(call, algorithm);
  const id = randomBytes(24).toString("base64url");
  createUpload(store.database, {
    bucket: call.bucket,
    key: call.key,
    id,
    startedMs: store.now(),
    headers: objectHeaders(call.headers, store.quirks.maxMetadataBytes),
    algorithm,
    type,
  });
  const headers: Record<string, string> = {};
  if (algorithm !== undefined) headers["x-amz-checksum-algorithm"] = algorithm;
  if (type !== undefined) headers["x-amz-checksum-type"] = type;
  const children = [leaf("Bucket", call.bucket), leaf("Key", call.key), leaf("UploadId", id)];
  return xmlReply("InitiateMultipartUploadResult", children, headers);
}

function partNumberOf(store: Store, call: Call): number {
  const number = Number(call.request.query.get("partNumber"));
  if (!Number.isInteger(number) || number < 1 || number > store.quirks.maxParts) {
    throw new S3Error(
      "InvalidArgument",
      `Part number must be an integer between 1 and ${store.quirks.maxParts}, inclusive`,
      {
        fields: { ArgumentName: "partNumber", ArgumentValue: call.request.query.get("partNumber") ?? "" },
      },
    );
  }
  return number;
}

/** Records a received part if the upload still exists; otherwise discards its blob. */
async function keepPart(
  store: Store,
  call: Call,
  given: { readonly number: number; readonly received: ReceivedBlob },
): Promise<Part> {
  const { number, received } = given;
  try {
    const upload = requireUpload(store, call);
    const checksum = received.checksum;
    if (upload.algorithm !== undefined && checksum !== undefined && checksum.algorithm !== upload.algorithm) {
      throw new S3Error(
        "InvalidRequest",
        `Checksum Type mismatch occurred, expected checksum Type: ${upload.algorithm.toLowerCase()}, actual checksum Type: ${checksum.algorithm.toLowerCase()}`,
      );
    }
    const part: Part = {
      number,
      blob: received.blob,
      sizeBytes: received.sizeBytes,
      md5: etagFor(store, received.md5Hex),
      modifiedMs: store.now(),
      algorithm: checksum?.algorithm,
      checksum: checksum?.value,
    };
    const freed = putPart(store.database, upload.id, part);
    store.blobs.keep(received.blob);
    sweep(store, freed);
    return part;
  } catch (error) {
    await store.blobs.discard(received.blob);
    throw error;
  }
}

/** Answers UploadPart. */
export async function uploadPart(store: Store, call: Call): Promise<Reply> {
  const upload = requireUpload(store, call);
  const number = partNumberOf(store, call);
  const received = await receiveBlob(store, call, upload.algorithm);
  const part = await keepPart(store, call, { number, received });
  const headers: Record<string, string> = { etag: `"${part.md5}"` };
  if (part.algorithm !== undefined && part.checksum !== undefined) {
    headers[checksumHeader(part.algorithm)] = part.checksum;
  }
  return emptyReply(200, headers);
}

/** Answers UploadPartCopy. */
export async function uploadPartCopy(store: Store, call: Call): Promise<Reply> {
  requireUpload(store, call);
  const number = partNumberOf(store, call);
  const source = copySource(store, call);
  const asked = call.headers.get("x-amz-copy-source-range");
  const range = readRange(asked, source.sizeBytes);
  if (asked !== undefined && range === undefined) {
    throw new S3Error("InvalidArgument", "The x-amz-copy-source-range value must be of the form bytes=first-last");
  }
  const whole = { first: 0, last: source.sizeBytes - 1 };
  const received = await receiveCopy(store, call, { source, range: range ?? whole });
  const part = await keepPart(store, call, { number, received });
  const modified = leaf("LastModified", new Date(part.modifiedMs).toISOString());
  return xmlReply("CopyPartResult", [modified, leaf("ETag", `"${part.md5}"`), ...partChecksum(part)]);
}

function partChecksum(part: Part): readonly string[] {
  return part.algorithm === undefined ? [] : [leaf(checksumElement(part.algorithm), part.checksum)];
}

/** Answers ListParts. */
export function listUploadParts(store: Store, call: Call): Reply {
  const upload = requireUpload(store, call);
  const limit = integerQuery(call, "max-parts", { fallback: 1000, max: 1000 });
  const afterNumber = integerQuery(call, "part-number-marker", { fallback: 0, max: 10_000 });
  const found = listParts(store.database, upload.id, { afterNumber, limit: limit + 1 });
  const page = found.slice(0, limit);
  const truncated = found.length > limit && limit > 0;
  return xmlReply("ListPartsResult", [
    leaf("Bucket", call.bucket),
    leaf("Key", call.key),
    leaf("UploadId", upload.id),
    leaf("PartNumberMarker", afterNumber),
    leaf("NextPartNumberMarker", page.at(-1)?.number ?? 0),
    leaf("MaxParts", limit),
    leaf("IsTruncated", truncated),
    leaf("ChecksumAlgorithm", upload.algorithm),
    leaf("ChecksumType", upload.type),
    ...page.map((part) =>
      branch("Part", [
        leaf("PartNumber", part.number),
        leaf("LastModified", new Date(part.modifiedMs).toISOString()),
        leaf("ETag", `"${part.md5}"`),
        leaf("Size", part.sizeBytes),
        ...partChecksum(part),
      ]),
    ),
    leaf("StorageClass", "STANDARD"),
  ]);
}

function joinedEtag(store: Store, parts: readonly Part[]): string {
  const digest = createHash("md5");
  for (const part of parts) digest.update(Buffer.from(part.md5, "hex"));
  return etagFor(store, `${digest.digest("hex")}-${parts.length}`);
}

function joinedChecksum(upload: Upload, parts: readonly Part[]): Checksum | undefined {
  if (upload.algorithm === undefined || upload.type === undefined) return undefined;
  const values = parts.map((part) => ({ value: part.checksum ?? "", sizeBytes: part.sizeBytes }));
  return joinChecksums({ algorithm: upload.algorithm, type: upload.type }, values);
}

function requireDeclaredWhole(call: Call, checksum: Checksum | undefined, sizeBytes: number): void {
  const declaredSize = call.headers.get("x-amz-mp-object-size");
  if (declaredSize !== undefined && Number(declaredSize) !== sizeBytes) {
    throw new S3Error("InvalidRequest", "The provided 'x-amz-mp-object-size' header does not match what was computed.");
  }
  if (checksum === undefined) return;
  const declared = call.headers.get(checksumHeader(checksum.algorithm));
  if (declared !== undefined && declared !== checksum.value) {
    throw new S3Error("BadDigest", `The ${checksum.algorithm} you specified did not match the calculated checksum.`);
  }
}

/** Answers CompleteMultipartUpload. */
export async function completeMultipartUpload(store: Store, call: Call): Promise<Reply> {
  requireUpload(store, call);
  const documentXml = await receiveDocument(call, MAX_COMPLETE_DOCUMENT_BYTES);
  const upload = requireUpload(store, call);
  checkWrite(store, call);
  const stored = listParts(store.database, upload.id, { afterNumber: 0, limit: 10_000 });
  const parts = planCompletion({ documentXml, upload, stored, quirks: store.quirks });
  const sizeBytes = parts.reduce((sum, part) => sum + part.sizeBytes, 0);
  const checksum = joinedChecksum(upload, parts);
  requireDeclaredWhole(call, checksum, sizeBytes);
  const object: StoredObject = {
    bucket: call.bucket,
    key: call.key,
    id: randomBytes(16).toString("hex"),
    sizeBytes,
    etag: joinedEtag(store, parts),
    modifiedMs: store.now(),
    headers: upload.headers,
    checksum,
  };
  const segments: Segment[] = parts.map((part) => ({
    part: part.number,
    blob: part.blob,
    sizeBytes: part.sizeBytes,
    checksum: part.checksum,
  }));
  sweep(store, completeUpload(store.database, upload, { object, segments }));
  const host = call.request.headers.get("host") ?? "";
  return xmlReply("CompleteMultipartUploadResult", [
    leaf("Location", `http://${host}${call.request.rawPath}`),
    leaf("Bucket", call.bucket),
    leaf("Key", call.key),
    leaf("ETag", `"${object.etag}"`),
    ...(checksum === undefined
      ? []
      : [leaf(checksumElement(checksum.algorithm), checksum.value), leaf("ChecksumType", checksum.type)]),
  ]);
}

/** Answers AbortMultipartUpload. */
export function abortMultipartUpload(store: Store, call: Call): Reply {
  const upload = requireUpload(store, call);
  sweep(store, abortUpload(store.database, upload));
  return emptyReply(204);
}
