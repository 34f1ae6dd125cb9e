import type * as z from "zod";
import type { KnownSum, lookAtInput, LookedAt } from "#protocol/buckets/browser-transfers.ts";
import { storedBytes } from "#protocol/checkpoint/packing.ts";
import { statObject } from "#storage/s3/multipart.ts";
import type { Context } from "#server/core/api/trpc.ts";
import { inTurn } from "./in-turn.ts";
import { requireMayRead } from "./may-read.ts";
import { checksumFor } from "./own-upload.ts";
import { factsOf } from "./start.ts";
import type { PersonCaller } from "#server/core/api/caller.ts";

/**
 * Returns the objects at these keys with their recorded checksums; keys without an object are left out.
 * @throws Fault NOT_FOUND, ROLE_REQUIRED, those of the store
 */
export async function lookAtObjects(
  { hub, caller }: Context & { caller: PersonCaller },
  input: z.infer<typeof lookAtInput>,
): Promise<LookedAt[]> {
  const store = await hub.stores.open(input.profileId);
  const recorded = await requireMayRead({ hub, caller, store }, input.keys);
  const { bucket } = store.access;
  const checksum = checksumFor(store);
  const found = await inTurn(input.keys, async (key): Promise<LookedAt | null> => {
    const state = await statObject(store.client, { bucket, key, checksum });
    if (state === null) return null;
    const extents = (recorded.get(key) ?? []).filter(({ etag }) => etag === state.etag);
    const sums = extents.map((extent) => storedBytes(extent)).flatMap(knownSum);
    return { ...factsOf(key, state), sums };
  });
  return found.filter((one) => one !== null);
}

const knownSum = ({ offset, length, crc32 }: ReturnType<typeof storedBytes<string | null>>): KnownSum[] =>
  crc32 === null ? [] : [{ offset, length, crc32 }];
