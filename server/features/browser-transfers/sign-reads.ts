import type * as z from "zod";
import type { ReadSignature, signReadsInput } from "#protocol/buckets/browser-transfers.ts";
import type { Operation } from "#protocol/wire/operations.ts";
import type { Context } from "#server/core/api/trpc.ts";
import { requireMayRead } from "./may-read.ts";
import { SIGNED_FOR_MS } from "./sign-parts.ts";
import type { PersonCaller } from "#server/core/api/caller.ts";

/**
 * Signs one GET for each object, pinned to its ETag. The `Range` header is not signed, so one signature reads any range of this
 * version of the object, and no other version.
 * @throws Fault NOT_FOUND, ROLE_REQUIRED
 */
export async function signReads(
  { hub, caller }: Context & { caller: PersonCaller },
  input: z.infer<typeof signReadsInput>,
): Promise<ReadSignature[]> {
  const store = await hub.stores.open(input.profileId);
  const keys = input.objects.map(({ key }) => key);
  await requireMayRead({ hub, caller, store }, keys);
  const operations = input.objects.map(({ key, etag }): Operation => ({
    op: "get",
    key,
    offset: 0,
    length: 1,
    etag,
    isUncoded: true,
  }));
  const { profileId, profileName } = store;
  const times = operations.length;
  await hub.keyUses.note({ caller, profileId, profileName, action: "sign reads", times });
  const requests = await store.signForBrowser(operations, { lifetimeMs: SIGNED_FOR_MS });
  hub.counters.signatures += times;
  return requests.map((request, index) => ({ key: keys[index] ?? "", request }));
}
