import { beforeEach } from "vitest";
import type { NodeEvent } from "#protocol/wire/reports.ts";
import { deleteMany } from "#storage/s3/delete-many.ts";
import { listObjects } from "#storage/s3/listing.ts";
import { run, type Staged } from "./stage-checkpoint.ts";
import { hubForEach, store, test } from "./hub-for-each.ts";
import { addTestNode, addTestProfile, callAs, type TestNode } from "./open-test-hub.ts";

/** For tests of verification: one store for the file, and for every test a hub with the node that writes the run. */
export { store, test };
export let profileId: string;
export let writer: TestNode;
export let epoch: number;

/** Registers the hooks that run before and after the tests of a file. */
export function writerForEach(): void {
  hubForEach();
  beforeEach(async () => {
    profileId = await addTestProfile(test.hub, store.endpoint, { bucket: "training" });
    await emptyBucket();
    writer = await addTestNode(test.hub, profileId, "writer");
    ({ epoch } = await callAs(test.hub, writer.caller).node.claimEpoch({ run }));
  });
}

/** Empties the bucket, which stays from test to test: a new hub would read the claims of earlier tests there. */
async function emptyBucket(): Promise<void> {
  const { client, access } = await test.hub.stores.open(profileId);
  const { bucket } = access;
  const keys: string[] = [];
  for await (const { key } of listObjects(client, { bucket, prefix: "" })) keys.push(key);
  if (keys.length > 0) await deleteMany(client, bucket, keys);
}

/** Returns a node's report of the end of a transfer: done, a second long, and started by a person. */
export const endOf = (
  { checkpointId, step }: Staged,
  about: Pick<Extract<NodeEvent, { type: "transfer-ended" }>, "seq" | "transferId" | "direction">,
) => {
  const at = test.hub.now();
  const amounts = { bytes: 18, files: 1, sentBytes: 18, startedAt: at - 1_000, retries: 0, connections: 1 };
  const what = { type: "transfer-ended" as const, checkpointId, run, step, startedBy: "operator" as const };
  return { ...about, ...what, ...amounts, at, state: "done" as const, fault: null };
};
