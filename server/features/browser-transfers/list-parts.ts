import type { UploadedPart, UploadParts } from "#protocol/buckets/browser-transfers.ts";
import { listParts, statObject } from "#storage/s3/multipart.ts";
import type { OpenStore } from "#server/core/api/ports/stores.ts";
import type { Context } from "#server/core/api/trpc.ts";
import { openOwn, type OwnUpload } from "./own-upload.ts";
import type { PersonCaller } from "#server/core/api/caller.ts";

/** Returns the object at the key if this upload wrote it, by nonce and size; else null. */
export async function ownObject(store: OpenStore, upload: OwnUpload): Promise<{ etag: string } | null> {
  const { key, nonce } = upload.row;
  const found = await statObject(store.client, { bucket: store.access.bucket, key, checksum: upload.checksum });
  return found !== null && found.nonce === nonce && found.sizeBytes === upload.sizeBytes ? found : null;
}

async function partsThere(store: OpenStore, upload: OwnUpload): Promise<UploadedPart[]> {
  const { key, uploadId } = upload.row;
  if (uploadId === null) {
    const isThere = (await ownObject(store, upload)) !== null;
    return isThere ? [{ partNumber: 1, sizeBytes: upload.sizeBytes, crc32: null }] : [];
  }
  const listed = await listParts(store.client, { bucket: store.access.bucket, key, uploadId });
  return listed
    .filter(({ partNumber, sizeBytes }) => upload.parts[partNumber - 1]?.length === sizeBytes)
    .map(({ partNumber, sizeBytes, crc32 }) => ({ partNumber, sizeBytes, crc32 }));
}

/**
 * Returns the parts that the store has of the caller's own upload; the page resumes from them alone.
 * @throws Fault NOT_FOUND, NO_SUCH_UPLOAD, those of the store
 */
export async function listOwnParts(
  { hub, caller }: Context & { caller: PersonCaller },
  input: { id: string },
): Promise<UploadParts> {
  const { upload, store } = await openOwn(hub, caller, input.id);
  const { partBytes, parts } = upload;
  return { partBytes, partCount: parts.length, parts: await partsThere(store, upload) };
}
