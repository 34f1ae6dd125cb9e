import { expect, test } from "vitest";
import { Fault } from "#protocol/faults/fault.ts";
import { MOST_CONFIRMED } from "#protocol/wire/hello.ts";
import { createFakeHub } from "../testing/fake-hub.ts";
import { isStoredNow, storedOf } from "./confirm-stored.ts";

const ledger = { storedAs: (path: string) => (path === "/w/checkpoint-10" ? "id-10" : null) };

test("content counts as stored only when the ledger knows it and the hub confirms its checkpoint", async () => {
  const asked: string[] = [];
  const hubThat = (complete: string[]) =>
    createFakeHub({
      confirmComplete: ({ checkpointIds }: { checkpointIds: string[] }) => {
        asked.push(...checkpointIds);
        return { complete };
      },
    });
  expect(await isStoredNow(storedOf({ ledger, hub: hubThat(["id-10"]) }), "/w/checkpoint-10", "print")).toBe(true);
  expect(await isStoredNow(storedOf({ ledger, hub: hubThat([]) }), "/w/checkpoint-10", "print")).toBe(false);
  expect(await isStoredNow(storedOf({ ledger, hub: hubThat(["id-10"]) }), "/w/other", "print")).toBe(false);
  expect(asked).toEqual(["id-10", "id-10"]);
});

test("a hub that gives no answer confirms nothing, and is not asked again for the rest", async () => {
  const ids = Array.from({ length: 3 * MOST_CONFIRMED }, (_, at) => `id-${at}`);
  const sizes: number[] = [];
  const hub = createFakeHub({
    confirmComplete: ({ checkpointIds }: { checkpointIds: string[] }) => {
      sizes.push(checkpointIds.length);
      if (sizes.length > 1) throw new Fault("HUB_UNREACHABLE");
      return { complete: checkpointIds };
    },
  });
  const complete = await storedOf({ ledger, hub }).confirm(ids);
  expect([...complete]).toEqual(ids.slice(0, MOST_CONFIRMED));
  expect(sizes).toEqual([MOST_CONFIRMED, MOST_CONFIRMED]);
});
