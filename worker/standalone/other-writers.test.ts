import { expect, test } from "vitest";
import { nodeName, runName } from "#protocol/base/names.ts";
import { LEASE_MS } from "#protocol/checkpoint/writer-lease.ts";
import { createBucket, PREFIX } from "../testing/memory-bucket.ts";
import { findOtherWriters } from "./other-writers.ts";
import { takeLease } from "./writer-lease.ts";

test("only nodes that hold a lease now are others that write, and not this one", async () => {
  const { calls, clock } = createBucket();
  const lease = (name: string) =>
    takeLease({
      calls,
      prefix: PREFIX,
      run: runName.parse(`run-of-${name}`),
      node: { id: `node-of-${name}`, name: nodeName.parse(name) },
      isConditional: true,
    });
  const others = () => findOtherWriters({ calls, prefix: PREFIX }, "node-of-self");
  await lease("self");
  const gone = await lease("gone");
  expect(await others()).toEqual([{ run: "run-of-gone", node: "gone" }]);
  await gone.giveBack();
  expect(await others()).toEqual([]);
  await lease("other");
  expect(await others()).toEqual([{ run: "run-of-other", node: "other" }]);
  clock.now += LEASE_MS;
  expect(await others()).toEqual([]);
  // The leases of many runs that ended long ago stand before it.
  for (let at = 0; at < 40; at++) await lease(`ended-${at}`);
  clock.now += 20 * LEASE_MS;
  await lease("writing");
  expect(await others()).toEqual([{ run: "run-of-writing", node: "writing" }]);
});
