import type { ObjectDetail } from "#protocol/buckets/bucket.ts";
import { Fault } from "#protocol/faults/fault.ts";
import { describeObject } from "#storage/s3/browse.ts";
import type { Hub } from "#server/core/api/hub.ts";
import { loadGuard } from "./protect.ts";

const MOST_METADATA = 100;

/**
 * Returns what the store says of one object, and its protection.
 * @throws Fault NOT_FOUND, NO_SUCH_KEY, CANCELLED, those of the store
 */
export async function describeAt(
  hub: Hub,
  { profileId, key }: { profileId: string; key: string },
  signal: AbortSignal,
): Promise<ObjectDetail> {
  const store = await hub.stores.open(profileId);
  const { bucket, traits } = store.access;
  const withChecksums = traits.checksum === "crc32" ? "asked for" : "left out";
  const [found, guard] = await Promise.all([
    describeObject(store.client, { bucket, key, withChecksums, signal }),
    loadGuard(hub, store),
  ]);
  const { contentEncoding, metadata, ...rest } = found;
  const encoding = contentEncoding === null ? [] : [{ name: "content-encoding", value: contentEncoding }];
  if (signal.aborted) throw new Fault("CANCELLED", { op: "HeadObject", subject: key });
  return {
    key,
    ...rest,
    metadata: [...encoding, ...metadata].slice(0, MOST_METADATA),
    protection: await guard.explain(key),
  };
}
