import { mkdtemp, readFile, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, afterEach, beforeAll, beforeEach, expect, test } from "vitest";
import type { Manifest } from "#protocol/checkpoint/checkpoint.ts";
import { traitsOf } from "#storage/providers/providers.ts";
import { openTrialStore, type TrialStore } from "../testing/trial-store.ts";
import { createFakeHub } from "../testing/fake-hub.ts";
import { manifestOf, restoreJobOf, storeFile, type StoredFile } from "../testing/stage-stored.ts";
import { restoreFromCopies } from "./read-copies.ts";

let store: TrialStore;
let stored: StoredFile;
let manifest: Manifest;
let folder: string;
beforeAll(async () => {
  store = await openTrialStore();
  stored = await storeFile(store, { key: "runs/llama/e000001/a/model", sizeBytes: 100_000, pieceBytes: 50_000 });
  manifest = manifestOf(stored);
});
beforeEach(async () => {
  folder = await mkdtemp(join(tmpdir(), "tidemark-copies-"));
});
afterEach(() => rm(folder, { recursive: true, force: true }));
afterAll(() => store.close());

const offer = (profileId: string) => ({
  store: {
    profileId,
    profileName: profileId,
    bucket: "trial",
    endpoint: "http://trial",
    prefix: "",
    traits: traitsOf("minio"),
  },
  isDamaged: false,
  bytesPerSecond: null,
});

async function restoreOf(offers: readonly string[]) {
  const target = join(folder, "out", "checkpoint-500");
  const wanted: (string | undefined)[] = [];
  const hub = createFakeHub({
    readCheckpoint: ({ profileId }: { profileId?: string }) => {
      wanted.push(profileId);
      return { manifest, sha256: "", copies: offers.map(offer) };
    },
  });
  const engine = store.engine();
  const parts = { engineAt: () => engine, memory: { recall: () => null } };
  await restoreFromCopies(engine, parts, { ...restoreJobOf(manifest, { folder, target, given: manifest }), hub });
  expect((await readFile(join(target, "deep/model.safetensors"))).equals(stored.bytes)).toBe(true);
  return wanted;
}

test("what the hub said of a copy is not asked for again", async () => {
  expect(await restoreOf(["profile-id-1", "profile-id-2"])).toEqual([undefined]);
});

test("a copy in another home is read by the manifest of that home", async () => {
  expect(await restoreOf(["profile-id-2", "profile-id-1"])).toEqual([undefined, "profile-id-2"]);
});

test("a hub that says nothing of copies is asked once", async () => {
  expect(await restoreOf([])).toEqual([undefined]);
});
