import { beforeEach } from "vitest";
import { addTestNode, type TestNode } from "./open-test-hub.ts";
import { profileForEach, profileId, test } from "./profile-for-each.ts";

/** For tests of the messages of a node: in every test a hub with one node, whose bucket is unreachable. */
export { profileId, test };
export let node: TestNode;

/** Registers the hooks that run before and after the tests of a file. */
export function nodeForEach(): void {
  profileForEach();
  beforeEach(async () => {
    node = await addTestNode(test.hub, profileId, "gpu-1");
  });
}
