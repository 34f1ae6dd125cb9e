import { ListMultipartUploadsCommand, ListObjectsV2Command, type S3Client } from "@aws-sdk/client-s3";
import { Fault } from "#protocol/fault.ts";
import { quoteEtag } from "./check-range.ts";
import { faultOfSdk } from "./faults.ts";

/**
 * Listings, page by page. A listing that failed is not "there is nothing": every doubt about a page (another bucket, no
 * word on whether more follows, a token that leads in a circle) ends in a Fault, never in a shorter list. The order of
 * keys is the store's own (Storj does not sort), so callers sort what they need sorted.
 */

export interface ListedObject {
  key: string;
  sizeBytes: number;
  /** With its quotes, as in the header. */
  etag: string;
  /** Epoch ms by the store's clock. */
  modifiedAt: number;
  /** `GLACIER` and the like; null where the store says none. */
  storageClass: string | null;
}

export interface ListedUpload {
  key: string;
  uploadId: string;
  /** Epoch ms by the store's clock. */
  startedAt: number;
}

const unexpected = (op: string, subject: string, detail: string): Fault =>
  new Fault("UNEXPECTED_ANSWER", { op, subject, detail });

/** Every object under `prefix`, after `startAfter` in the store's order. Faults of the store are thrown mid-way. */
export async function* listObjects(
  client: S3Client,
  input: { bucket: string; prefix: string; startAfter?: string; pageSize?: number },
): AsyncGenerator<ListedObject> {
  const op = "ListObjectsV2";
  const { bucket, prefix, startAfter, pageSize } = input;
  const subject = `${bucket}/${prefix}`;
  const seen = new Set<string>();
  let token: string | undefined;
  do {
    const page = await client
      .send(
        new ListObjectsV2Command({
          Bucket: bucket,
          Prefix: prefix,
          StartAfter: startAfter,
          ContinuationToken: token,
          MaxKeys: pageSize,
        }),
      )
      .catch((error: unknown) => {
        throw faultOfSdk(error, { op, subject });
      });
    if (page.IsTruncated === undefined) throw unexpected(op, subject, "no IsTruncated in the answer");
    if (page.Name !== undefined && page.Name !== bucket) throw unexpected(op, subject, "a listing of another bucket");
    for (const object of page.Contents ?? []) {
      const { Key: key, Size: sizeBytes, ETag: etag, LastModified: modified, StorageClass = null } = object;
      if (key === undefined || sizeBytes === undefined || etag === undefined || modified === undefined) {
        throw unexpected(op, subject, "an object without a key, size, ETag or date");
      }
      if (!key.startsWith(prefix)) throw unexpected(op, subject, "a key that lies under another prefix");
      const modifiedAt = modified.getTime();
      yield { key, sizeBytes, etag: quoteEtag(etag), modifiedAt, storageClass: StorageClass };
    }
    token = page.IsTruncated ? page.NextContinuationToken : undefined;
    if (page.IsTruncated && (token === undefined || seen.has(token))) {
      throw unexpected(op, subject, "a page that does not say where the next one starts");
    }
    if (token !== undefined) seen.add(token);
  } while (token !== undefined);
}

/** Every multipart upload under `prefix` that is neither completed nor aborted. */
export async function* listUploads(
  client: S3Client,
  input: { bucket: string; prefix: string; pageSize?: number },
): AsyncGenerator<ListedUpload> {
  const op = "ListMultipartUploads";
  const { bucket, prefix, pageSize } = input;
  const subject = `${bucket}/${prefix}`;
  const seen = new Set<string>();
  let marker: { key: string; uploadId: string | undefined } | undefined;
  do {
    const page = await client
      .send(
        new ListMultipartUploadsCommand({
          Bucket: bucket,
          Prefix: prefix,
          KeyMarker: marker?.key,
          UploadIdMarker: marker?.uploadId,
          MaxUploads: pageSize,
        }),
      )
      .catch((error: unknown) => {
        throw faultOfSdk(error, { op, subject });
      });
    if (page.IsTruncated === undefined) throw unexpected(op, subject, "no IsTruncated in the answer");
    for (const { Key: key, UploadId: uploadId, Initiated: initiated } of page.Uploads ?? []) {
      if (key === undefined || uploadId === undefined) throw unexpected(op, subject, "an upload without a key or id");
      if (key.startsWith(prefix)) yield { key, uploadId, startedAt: initiated?.getTime() ?? 0 };
    }
    marker = undefined;
    if (page.IsTruncated) {
      const at = `${page.NextKeyMarker}\n${page.NextUploadIdMarker}`;
      if (page.NextKeyMarker === undefined || seen.has(at)) {
        throw unexpected(op, subject, "a page that does not say where the next one starts");
      }
      seen.add(at);
      marker = { key: page.NextKeyMarker, uploadId: page.NextUploadIdMarker };
    }
  } while (marker !== undefined);
}
