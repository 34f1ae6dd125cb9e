import { afterAll, afterEach, beforeAll, beforeEach } from "vitest";
import { openTestHub, openTestStore, type TestHub, type TestStore } from "./open-test-hub.ts";

/** For tests of what a hub does with a bucket: a store for the file, and for every test a hub that knows nothing of it yet. */
export let store: TestStore;
export let test: TestHub;

/** Registers what has to happen before and after the tests of a file; `flags` are those of the store's command line. */
export function hubForEach(flags: readonly string[] = []): void {
  beforeAll(async () => {
    store = await openTestStore(flags);
  });
  afterAll(() => store.close());
  beforeEach(async () => {
    test = await openTestHub();
  });
  afterEach(() => test.close());
}
