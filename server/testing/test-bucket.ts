import { listObjects } from "#storage/s3/listing.ts";
import { deleteObject } from "#storage/s3/objects.ts";
import type { Hub } from "../core/api/hub.ts";
import { addTestNode, addTestProfile, joinGroup, type TestStore } from "./open-test-hub.ts";

/** For tests: reads and empties the bucket of a profile. */

/** Returns the keys under `prefix`. */
export async function keysOf(hub: Hub, profileId: string, prefix: string): Promise<string[]> {
  const { client } = await hub.stores.open(profileId);
  const keys: string[] = [];
  for await (const { key } of listObjects(client, { bucket: "training", prefix })) keys.push(key);
  return keys;
}

/** Deletes all objects. */
export async function clearBucket(hub: Hub, profileId: string): Promise<void> {
  const { client } = await hub.stores.open(profileId);
  for (const key of await keysOf(hub, profileId, "")) await deleteObject(client, { bucket: "training", key });
}

/** Adds two nodes of one profile and one container group, over an empty bucket. */
export async function addPair(hub: Hub, store: TestStore) {
  const profileId = await addTestProfile(hub, store.endpoint);
  const node = await addTestNode(hub, profileId, "gpu-1");
  const other = await addTestNode(hub, profileId, "gpu-2");
  await joinGroup(hub, node, other);
  await clearBucket(hub, profileId);
  return { profileId, node, other };
}
