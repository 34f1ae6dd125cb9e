import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterEach, beforeEach, expect, test } from "vitest";
import { readFacts } from "../host/facts.ts";
import { createFakeHub } from "../testing/fake-hub.ts";
import { openOutbox, type Outbox } from "./outbox.ts";
import type { NodeStore } from "#protocol/wire/hello.ts";
import { traitsOf } from "#storage/providers/providers.ts";
import { openSession } from "./session.ts";

let folder: string;
let outbox: Outbox;
const clock = { wall: 1_000_000, monotonic: 50 };
const pass = (ms: number) => {
  clock.wall += ms;
  clock.monotonic += ms;
};

beforeEach(async () => {
  folder = await mkdtemp(join(tmpdir(), "tidemark-session-"));
  outbox = await openOutbox(join(folder, "outbox.jsonl"), Date.now);
});
afterEach(async () => {
  await outbox.close();
  await rm(folder, { recursive: true, force: true });
});

const storeAt = (bucket: string): NodeStore => ({
  profileId: "profile-id-1",
  profileName: "lab",
  bucket,
  endpoint: "http://127.0.0.1:9",
  prefix: "",
  traits: traitsOf("other"),
});

/** `stores`: what each hello in turn says; null from then on. */
async function open(stores: NodeStore[] = []) {
  const answer = {
    accepted: true,
    name: "gpu-1",
    settings: { reportEveryMs: 2_000 },
    hubTimeMs: 9_000_000,
  };
  const session = await openSession({
    hub: createFakeHub({
      hello: () => ({ ...answer, store: stores.shift() ?? null, nodeId: "node-id-1", acceptedThrough: 0 }),
    }),
    state: folder,
    name: "gpu-1",
    bootId: "boot-id-1",
    facts: await readFacts({ labels: [], machineId: null }),
    outbox,
    wallNow: () => clock.wall,
    monotonicNow: () => clock.monotonic,
  });
  await session.hello();
  return session;
}

test("the hub's time goes on by ours, however wrong our clock is", async () => {
  const session = await open();
  pass(60_000);
  expect(session.hubNow()).toBe(9_060_000);
});

test("a clock that is set back, and a machine that slept, do not make old signatures young", async () => {
  const session = await open();
  pass(60_000);
  clock.wall -= 7_200_000;
  expect(session.hubNow()).toBe(9_060_000);
  clock.wall += 7_200_000 + 3_600_000;
  expect(session.hubNow()).toBe(12_660_000);
});

test("hellos at the same moment take turns, and the last answer counts", async () => {
  const session = await open([storeAt("first"), storeAt("second"), storeAt("third")]);
  await Promise.all([session.hello(), session.hello()]);
  expect(session.store?.bucket).toBe("third");
});
