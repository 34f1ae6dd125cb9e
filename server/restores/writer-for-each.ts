import { beforeEach } from "vitest";
import type { NodeEvent } from "#protocol/reports.ts";
import { run, type Staged } from "../checkpoints/stage-checkpoint.ts";
import { hubForEach, store, test } from "../hub/hub-for-each.ts";
import { addTestNode, addTestProfile, callAs, type TestNode } from "../hub/open-test-hub.ts";

/** For tests of what is read back: a store for the file, and for every test a hub with the node that writes the run. */
export { store, test };
export let profileId: string;
export let writer: TestNode;
export let epoch: number;
let count = 0;

/** Registers what has to happen before and after the tests of a file. */
export function writerForEach(): void {
  hubForEach();
  beforeEach(async () => {
    profileId = await addTestProfile(test.hub, store.endpoint, { bucket: "training" });
    // The bucket stays: another name in each test keeps their runs apart.
    writer = await addTestNode(test.hub, profileId, `writer-${++count}`);
    ({ epoch } = await callAs(test.hub, writer.caller).node.claimEpoch({ run }));
  });
}

/** The end of a transfer of a checkpoint as its node tells it: done, a second long, and asked for by a person. */
export const endOf = (
  { checkpointId, step }: Staged,
  about: Pick<Extract<NodeEvent, { type: "transfer-ended" }>, "seq" | "transferId" | "direction">,
) => {
  const at = test.hub.now();
  const amounts = { bytes: 18, files: 1, sentBytes: 18, startedAt: at - 1_000, retries: 0, connections: 1 };
  const what = { type: "transfer-ended" as const, checkpointId, run, step, startedBy: "operator" as const };
  return { ...about, ...what, ...amounts, at, state: "done" as const, fault: null };
};
