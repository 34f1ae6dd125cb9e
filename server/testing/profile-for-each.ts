import { afterEach, beforeEach } from "vitest";
import { addTestProfile, openTestHub, type TestHub } from "./open-test-hub.ts";

/** For tests without a store: in every test a hub with a profile at whose address nobody listens. */
export let test: TestHub;
export let profileId: string;

/** Registers the hooks that run before and after the tests of a file. */
export function profileForEach(): void {
  beforeEach(async () => {
    test = await openTestHub();
    profileId = await addTestProfile(test.hub, "http://127.0.0.1:9");
  });
  afterEach(() => test.close());
}
