import { beforeEach } from "vitest";
import { hubForEach, store, test } from "./hub-for-each.ts";
import { callAs, type TestNode } from "./open-test-hub.ts";
import { run } from "./stage-checkpoint.ts";
import { addPair } from "./test-bucket.ts";

/** For tests of two nodes with one run: one store for the file, and for every test a hub over an empty bucket. */
export { store, test };
export let profileId: string;
export let node: TestNode;
export let other: TestNode;

/** Registers the hooks that run before and after the tests of a file; `flags` are those of the store's command line. */
export function pairForEach(flags: readonly string[] = []): void {
  hubForEach(flags);
  beforeEach(async () => {
    ({ profileId, node, other } = await addPair(test.hub, store));
  });
}

export const claim = (who: TestNode) => callAs(test.hub, who.caller).node.claimEpoch({ run });
