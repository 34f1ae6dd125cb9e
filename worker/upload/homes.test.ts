import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterEach, beforeEach, expect, test } from "vitest";
import type { RunHomes } from "#protocol/wire/homes.ts";
import { runName } from "#protocol/base/names.ts";
import { traitsOf } from "#storage/providers/providers.ts";
import { createFakeClock } from "../testing/fake-clock.ts";
import { createFakeHub } from "../testing/fake-hub.ts";
import { openHomes } from "./homes.ts";

const run = runName.parse("two-homes");
let state: string;

beforeEach(async () => {
  state = await mkdtemp(join(tmpdir(), "tidemark-homes-"));
});
afterEach(() => rm(state, { recursive: true }));

const homeAt = (bucket: string, bytesPerSecond: number | null): RunHomes["homes"][number] => ({
  store: {
    profileId: `profile-of-${bucket}`,
    profileName: bucket,
    bucket,
    endpoint: "https://s3.example.com",
    prefix: "",
    traits: traitsOf("aws"),
  },
  bytesPerSecond,
});

/** The order of the homes, by bucket, after the hub has said `told` and this machine has learnt `learnt`. */
async function orderOf(told: RunHomes["homes"], learnt: Record<string, number>): Promise<string[]> {
  const answer: RunHomes = { run, copies: 2, homes: told };
  const homes = await openHomes({
    hub: createFakeHub({ homes: () => answer }),
    state,
    clock: createFakeClock(),
    wallNow: () => 0,
    memory: {
      recall: ({ bucket }) => {
        const bytesPerSecond = learnt[bucket];
        return bytesPerSecond === undefined ? null : { connections: 8, bytesPerSecond, baseRttMs: null, at: 0 };
      },
    },
  });
  await homes.ask(run);
  return homes.of(run).map(({ bucket }) => bucket);
}

test("what the hub saw of all homes counts before what a link once reached at its best", async () => {
  expect(await orderOf([homeAt("far", 9e6), homeAt("near", 2e6)], { near: 400e6 })).toEqual(["far", "near"]);
  expect(await orderOf([homeAt("near", 2e6), homeAt("far", 9e6)], { near: 400e6, far: 1e6 })).toEqual(["far", "near"]);
});

test("what this machine learnt of all homes counts where the hub has not seen all of them", async () => {
  expect(await orderOf([homeAt("near", 2e6), homeAt("far", null)], { near: 2e6, far: 9e6 })).toEqual(["far", "near"]);
});
