import type * as z from "zod";
import type { FinishedUpload, finishUploadsInput } from "#protocol/buckets/browser-transfers.ts";
import { Fault, isFault, toFault } from "#protocol/faults/fault.ts";
import { completeUpload, listParts, statObject } from "#storage/s3/multipart.ts";
import type { ListedPart } from "#storage/s3/answers.ts";
import type { Hub } from "#server/core/api/hub.ts";
import type { OpenStore } from "#server/core/api/ports/stores.ts";
import type { Context } from "#server/core/api/trpc.ts";
import { inTurn } from "./in-turn.ts";
import { ownObject } from "./list-parts.ts";
import { findOwn, openOwn, type OwnUpload } from "./own-upload.ts";
import type { PersonCaller } from "#server/core/api/caller.ts";

/**
 * Completes uploads. Compares the store's own list of parts with the plan and with the checksums that the page computed. Then
 * reads size and nonce of the object: only they prove that an upload is done, also when an answer was lost.
 */

/** Returns the numbers of parts that are missing or differ from what the page read. */
function wrongParts(upload: OwnUpload, listed: readonly ListedPart[], sums: readonly string[]): number[] {
  const there = new Map(listed.map((part) => [part.partNumber, part]));
  return upload.parts
    .filter(({ partNumber, length }) => {
      const part = there.get(partNumber);
      const sum = sums[partNumber - 1];
      return part?.sizeBytes !== length || (part.crc32 !== null && sum !== undefined && part.crc32 !== sum);
    })
    .map(({ partNumber }) => partNumber);
}

/** Refuses to overwrite an object that appeared meanwhile, at stores without conditional writes. A race remains possible. */
async function refuseIfThere(store: OpenStore, upload: OwnUpload): Promise<void> {
  const { key, replaces } = upload.row;
  if (replaces || store.access.traits.conditionalWrites) return;
  const found = await statObject(store.client, { bucket: store.access.bucket, key, checksum: "none" });
  if (found !== null) throw new Fault("ALREADY_EXISTS", { op: "CompleteMultipartUpload", subject: key });
}

/** Completes a multipart upload. Returns the numbers of parts to send again; none when completion was requested. */
async function putTogether(store: OpenStore, upload: OwnUpload, sums: readonly string[]): Promise<number[]> {
  const { key, uploadId, replaces } = upload.row;
  if (uploadId === null) return [];
  const at = { bucket: store.access.bucket, key, uploadId };
  const listed = await listParts(store.client, at);
  const wrong = wrongParts(upload, listed, sums);
  if (wrong.length > 0) return wrong;
  await refuseIfThere(store, upload);
  const parts = listed.slice(0, upload.parts.length);
  const ifAbsent = store.access.traits.conditionalWrites && !replaces ? ({ "if-none-match": "*" } as const) : {};
  await completeUpload(store.client, { ...at, parts, ifAbsent });
  return [];
}

async function finishOne(
  hub: Hub,
  caller: PersonCaller,
  { id, sums }: { id: string; sums: string[] },
): Promise<FinishedUpload> {
  const row = await findOwn(hub, caller, id);
  const sizeBytes = Number(row.sizeBytes);
  // The upload is done already, and the answer that said so was lost.
  if (row.etag !== null) return { id, outcome: "done", etag: row.etag, sizeBytes };
  const { upload, store } = await openOwn(hub, caller, id);
  let fault: Fault | null = null;
  try {
    const partNumbers = await putTogether(store, upload, sums);
    if (partNumbers.length > 0) return { id, outcome: "missing", partNumbers };
  } catch (error) {
    if (!isFault(error)) throw error;
    fault = error;
  }
  const object = await ownObject(store, upload);
  if (object === null) {
    if (fault !== null) throw fault;
    return { id, outcome: "missing", partNumbers: upload.row.uploadId === null ? [1] : [] };
  }
  await hub.db.browserUpload.update({ where: { id }, data: { endedAt: new Date(hub.now()), etag: object.etag } });
  return { id, outcome: "done", etag: object.etag, sizeBytes };
}

/** Finishes uploads; returns one outcome for each upload, in their order. */
export const finishUploads = (
  { hub, caller }: Context & { caller: PersonCaller },
  input: z.infer<typeof finishUploadsInput>,
): Promise<FinishedUpload[]> =>
  inTurn(input.uploads, (one) =>
    hub.locks
      .run(`browser upload ${one.id}`, () => finishOne(hub, caller, one))
      .catch((error: unknown): FinishedUpload => ({ id: one.id, outcome: "failed", fault: toFault(error).toData() })),
  );
