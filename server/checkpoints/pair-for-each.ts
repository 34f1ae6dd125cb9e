import { afterAll, afterEach, beforeAll, beforeEach } from "vitest";
import { callAs, openTestStore, type TestHub, type TestNode, type TestStore } from "../hub/open-test-hub.ts";
import { run } from "./stage-checkpoint.ts";
import { openPair } from "./test-bucket.ts";

/** For tests of what two nodes do with one run: a store for the file, and for every test a hub over an empty bucket. */
export let store: TestStore;
export let test: TestHub;
export let profileId: string;
export let node: TestNode;
export let other: TestNode;

/** Registers what has to happen before and after the tests of a file. */
export function pairForEach(): void {
  beforeAll(async () => {
    store = await openTestStore();
  });
  afterAll(() => store.close());
  beforeEach(async () => {
    ({ test, profileId, node, other } = await openPair(store));
  });
  afterEach(() => test.close());
}

export const claim = (who: TestNode) => callAs(test.hub, who.caller).node.claimEpoch({ run });
