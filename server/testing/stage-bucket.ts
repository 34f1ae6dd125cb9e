import { putObjectText } from "#storage/s3/objects.ts";
import type { Hub } from "../core/api/hub.ts";
import { addTestProfile, openTestHub, openTestStore, type TestHub, type TestStore } from "./open-test-hub.ts";

/** For tests: hostile keys, all of them legal. */
export const HOSTILE_KEYS = [
  "odd/a b+c%2F&d=e?#.txt",
  "odd/../up.txt",
  "odd/<img src=x onerror=alert(1)>.txt",
  "odd/$(touch x) `id` 'quoted'.txt",
  "odd/\u202Etxt.exe",
  "odd/tab\tand\u0001control.txt",
  `odd/${"long".repeat(200)}.txt`,
  "odd/日本語 😀.txt",
  "odd//double.txt",
];

/** Opens a hub with one profile over a store with `flags`. */
export async function openBucketStage(
  flags: readonly string[] = [],
): Promise<{ test: TestHub; store: TestStore; profileId: string }> {
  const store = await openTestStore(flags);
  const test = await openTestHub();
  return { test, store, profileId: await addTestProfile(test.hub, store.endpoint) };
}

/** Writes objects by key, with the hub's own client. */
export async function putAll(hub: Hub, profileId: string, objects: Readonly<Record<string, string>>): Promise<void> {
  const { client } = await hub.stores.open(profileId);
  for (const [key, text] of Object.entries(objects)) await putObjectText(client, { bucket: "training", key, text });
}
