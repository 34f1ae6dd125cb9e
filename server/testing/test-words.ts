import { getObjectText } from "#storage/s3/objects.ts";
import { keysOf } from "./test-bucket.ts";
import type { Hub } from "../core/api/hub.ts";
import { callAs, type TestHub } from "./open-test-hub.ts";

/** Returns the texts of the retention records in the bucket of a profile, in the order of their keys. For tests. */
export async function readRecordsOf(hub: Hub, profileId: string): Promise<string[]> {
  const { client } = await hub.stores.open(profileId);
  const keys = await keysOf(hub, profileId, "team/keeping/");
  const read = keys.map((key) => getObjectText(client, { bucket: "training", key, maxBytes: 65_536 }));
  return (await Promise.all(read)).map(({ text }) => text);
}

/** Returns the kinds of the events that people see, newest first. */
export async function kindsTold({ hub }: TestHub): Promise<string[]> {
  const query = { nodeId: null, run: null, cursor: null, limit: 50 };
  return (await callAs(hub, "viewer").events.list(query)).rows.map(({ kind }) => kind);
}
