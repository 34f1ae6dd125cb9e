import type * as z from "zod";
import type { signPartsInput } from "#protocol/buckets/browser-transfers.ts";
import { Fault } from "#protocol/faults/fault.ts";
import type { Operation, SignedRequest } from "#protocol/wire/operations.ts";
import type { Context } from "#server/core/api/trpc.ts";
import { openOwn } from "./own-upload.ts";
import type { PersonCaller } from "#server/core/api/caller.ts";

/** Lifetime of a signature: long enough to wait in a browser's queue. A request that has begun may outlast it. */
export const SIGNED_FOR_MS = 600_000;

/**
 * Signs requests for parts of the caller's own upload: each for one part number, with the exact length and, where the store
 * takes one, its checksum. For a file in one piece, part 1 is the PutObject.
 * @throws Fault NOT_FOUND, NO_SUCH_UPLOAD, BAD_INPUT for a part that the file does not have
 */
export async function signParts(
  { hub, caller }: Context & { caller: PersonCaller },
  input: z.infer<typeof signPartsInput>,
): Promise<{ requests: SignedRequest[] }> {
  const { upload, store } = await openOwn(hub, caller, input.id);
  const { key, uploadId, nonce, replaces } = upload.row;
  const { checksum } = upload;
  const operations = input.parts.map(({ partNumber, crc32 }): Operation => {
    const sizeBytes = upload.sizeBytes === 0 ? 0 : upload.parts[partNumber - 1]?.length;
    if (sizeBytes === undefined || (upload.sizeBytes === 0 && partNumber !== 1)) {
      throw new Fault("BAD_INPUT", { op: "sign", subject: key, detail: `the file has no part ${partNumber}` });
    }
    return uploadId === null
      ? { op: "put", key, sizeBytes, crc32, nonce, checksum }
      : { op: "part", key, uploadId, partNumber, sizeBytes, crc32, checksum };
  });
  const { profileId, profileName } = store;
  const times = operations.length;
  await hub.keyUses.note({ caller, profileId, profileName, action: "sign writes", times });
  const requests = await store.signForBrowser(operations, {
    lifetimeMs: SIGNED_FOR_MS,
    ifThere: replaces ? "replace" : "keep",
  });
  hub.counters.signatures += times;
  return { requests };
}
