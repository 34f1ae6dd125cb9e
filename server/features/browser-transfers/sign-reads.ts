import type * as z from "zod";
import type { ReadSignature, signReadsInput } from "#protocol/buckets/browser-transfers.ts";
import type { Operation } from "#protocol/wire/operations.ts";
import type { Context } from "#server/core/api/trpc.ts";
import { requireMayRead } from "./may-read.ts";
import { SIGNED_FOR_MS } from "./sign-parts.ts";
import type { PersonCaller } from "#server/core/api/caller.ts";

/**
 * One signed GET per object, pinned to its ETag. The range is sent and not signed, so that one signature reads the object
 * in as many ranges as the page likes, and no other version of it.
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
