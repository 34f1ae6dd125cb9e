import {
  CompleteMultipartUploadCommand,
  CreateMultipartUploadCommand,
  HeadObjectCommand,
  ListPartsCommand,
  type S3Client,
} from "@aws-sdk/client-s3";
import { Fault } from "#protocol/faults/fault.ts";
import type { ListedPart } from "./answers.ts";
import { quoteEtag } from "../answers/check-range.ts";
import { crc32FromBase64, crc32ToBase64, readObjectSum, type ObjectSum } from "../checksums/crc32.ts";
import { faultOfSdk } from "../answers/faults.ts";
import { NONCE_METADATA } from "../signing/signing.ts";

/** Control calls around a multipart upload whose parts another process sends: create, list parts, complete. */

interface At {
  bucket: string;
  key: string;
}

/** Whether each part carries a CRC32 that the store verifies. */
type Checksum = "crc32" | "none";

/** Creates an upload whose object will carry `nonce`. Rejects with Faults of the store. */
export async function createUpload(
  client: S3Client,
  input: At & { nonce: string; checksum: Checksum },
): Promise<{ uploadId: string }> {
  const { bucket, key, nonce, checksum } = input;
  const op = "CreateMultipartUpload";
  try {
    const answer = await client.send(
      new CreateMultipartUploadCommand({
        Bucket: bucket,
        Key: key,
        Metadata: { [NONCE_METADATA]: nonce },
        ...(checksum === "crc32" ? { ChecksumAlgorithm: "CRC32" } : {}),
      }),
    );
    if (answer.UploadId === undefined) throw new Fault("UNEXPECTED_ANSWER", { op, subject: key });
    return { uploadId: answer.UploadId };
  } catch (error) {
    throw faultOfSdk(error, { op, subject: key });
  }
}

/**
 * Returns every part of an upload, ordered by number.
 * @throws Fault NO_SUCH_UPLOAD, UNEXPECTED_ANSWER for a missing or repeated marker, those of the store
 */
export async function listParts(client: S3Client, input: At & { uploadId: string }): Promise<ListedPart[]> {
  const { bucket, key, uploadId } = input;
  const op = "ListParts";
  const found = new Map<number, ListedPart>();
  let marker: string | undefined;
  try {
    do {
      const page = await client.send(
        new ListPartsCommand({ Bucket: bucket, Key: key, UploadId: uploadId, PartNumberMarker: marker }),
      );
      for (const { PartNumber: partNumber, Size: sizeBytes, ETag: etag, ChecksumCRC32: sum } of page.Parts ?? []) {
        if (partNumber === undefined || sizeBytes === undefined || etag === undefined) {
          throw new Fault("UNEXPECTED_ANSWER", { op, subject: key, detail: "a part without number, size or ETag" });
        }
        const crc32 = sum === undefined ? null : crc32FromBase64(sum);
        found.set(partNumber, { partNumber, sizeBytes, etag: quoteEtag(etag), crc32 });
      }
      const next = page.IsTruncated === true ? page.NextPartNumberMarker : undefined;
      if (page.IsTruncated === true && (next === undefined || next === marker)) {
        throw new Fault("UNEXPECTED_ANSWER", { op, subject: key, detail: "a page of parts that leads nowhere" });
      }
      marker = next;
    } while (marker !== undefined);
  } catch (error) {
    throw faultOfSdk(error, { op, subject: key });
  }
  return [...found.values()].sort((a, b) => a.partNumber - b.partNumber);
}

/**
 * Completes an upload. `ifAbsent` sends `if-none-match: *`. After a Fault the object may exist anyway: compare its
 * nonce with `statObject`.
 * @throws Fault ALREADY_EXISTS, NO_SUCH_UPLOAD, those of the store
 */
export async function completeUpload(
  client: S3Client,
  input: At & { uploadId: string; parts: readonly ListedPart[]; ifAbsent: { "if-none-match"?: "*" } },
): Promise<void> {
  const { bucket, key, uploadId, parts, ifAbsent } = input;
  const op = "CompleteMultipartUpload";
  try {
    await client.send(
      new CompleteMultipartUploadCommand({
        Bucket: bucket,
        Key: key,
        UploadId: uploadId,
        ...(ifAbsent["if-none-match"] === undefined ? {} : { IfNoneMatch: ifAbsent["if-none-match"] }),
        MultipartUpload: {
          Parts: parts.map(({ partNumber, etag, crc32 }) => ({
            PartNumber: partNumber,
            ETag: etag,
            ...(crc32 === null ? {} : { ChecksumCRC32: crc32ToBase64(crc32) }),
          })),
        },
      }),
    );
  } catch (error) {
    throw faultOfSdk(error, { op, subject: key });
  }
}

export interface ObjectState {
  sizeBytes: number;
  etag: string;
  nonce: string | null;
  modifiedAt: number | null;
  /** Requested only if `checksum` is crc32, because some stores refuse that header. */
  sum: ObjectSum | null;
}

/** Returns the state of an object, or null when none exists. Rejects with Faults of the store. */
export async function statObject(client: S3Client, input: At & { checksum: Checksum }): Promise<ObjectState | null> {
  const { bucket, key, checksum } = input;
  const op = "HeadObject";
  try {
    const answer = await client.send(
      new HeadObjectCommand({ Bucket: bucket, Key: key, ...(checksum === "crc32" ? { ChecksumMode: "ENABLED" } : {}) }),
    );
    const { ContentLength: sizeBytes, ETag: etag, Metadata: metadata, LastModified: modified } = answer;
    if (sizeBytes === undefined || etag === undefined) {
      throw new Fault("UNEXPECTED_ANSWER", { op, detail: "no size or no ETag in the answer" });
    }
    return {
      sizeBytes,
      etag: quoteEtag(etag),
      nonce: metadata?.[NONCE_METADATA] ?? null,
      modifiedAt: modified?.getTime() ?? null,
      sum: answer.ChecksumCRC32 === undefined ? null : readObjectSum(answer.ChecksumCRC32),
    };
  } catch (error) {
    const fault = faultOfSdk(error, { op, subject: key });
    if (fault.code === "NO_SUCH_KEY") return null;
    throw fault;
  }
}
