import { afterAll, afterEach, beforeAll, beforeEach } from "vitest";
import { openTestHub, openTestStore, type TestHub, type TestStore } from "./open-test-hub.ts";

/** For tests of a hub with a bucket: one store for the file, and a new hub for every test. */
export let store: TestStore;
export let test: TestHub;

/** Registers the hooks that run before and after the tests of a file; `flags` are those of the store's command line. */
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
