import { afterEach, beforeEach } from "vitest";
import { node, nodeForEach, test } from "./node-for-each.ts";
import { serve, type Served } from "../http/serve.ts";

/** For tests over real connections: in every test a hub with one node, served without its pages. */
export { node, test };
export let served: Served;

/** Registers the hooks that run before and after the tests of a file. */
export function servedForEach(): void {
  nodeForEach();
  beforeEach(async () => {
    served = await serve(test.hub, async (_request, response) => void response.end(), 0);
  });
  afterEach(async () => {
    test.startClosing();
    await served.close(0);
  });
}
