import { randomBytes } from "node:crypto";
import { mkdtemp, readFile, readdir, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, afterEach, beforeAll, beforeEach, expect, test } from "vitest";
import { adoptedManifest, withSums, type AdoptedManifest } from "#protocol/adopted.ts";
import { Fault } from "#protocol/fault.ts";
import { readPut } from "#storage/answers.ts";
import { crc32Hex } from "#storage/crc32.ts";
import { callStore } from "../engine/engine.ts";
import { openTrialStore, type TrialStore } from "../engine/trial-store.ts";
import { createFakeHub } from "../link/fake-hub.ts";
import { restore, type RestoreJob } from "./restore.ts";

/** What another tool wrote: foreign keys, pinned by ETag, without checksums. */

const MIB = 1024 * 1024;
const model = randomBytes(3 * MIB);
const SUMS = [model.subarray(0, 2 * MIB), model.subarray(2 * MIB)].map((bytes) => crc32Hex(bytes));
let store: TrialStore;
let manifest: AdoptedManifest;
let folder: string;
let target: string;

beforeAll(async () => {
  store = await openTrialStore();
  const key = "experiments/checkpoint-5/model.safetensors";
  const operation = { op: "put", key, sizeBytes: model.length, crc32: crc32Hex(model), nonce: "n" } as const;
  const { etag } = await callStore(
    store.engine(),
    { operation, signal: new AbortController().signal, body: model },
    readPut,
  );
  const piece = { key, crc32: null, etag };
  manifest = adoptedManifest.parse({
    format: "tidemark.adopted",
    version: 1,
    id: "checkpoint-id-1",
    run: "experiments",
    step: 5,
    writerEpoch: 0,
    parent: null,
    attempt: "aaaaaaaaaaaa",
    node: null,
    framework: null,
    metrics: {},
    capturedAt: 1,
    sizeBytes: model.length,
    homes: [{ profileId: "profile-id-1", bucket: "trial", prefix: "" }],
    transform: { kind: "none" },
    origin: { place: "experiments/checkpoint-5/", kind: "folder", verdict: "unknown", reason: "", adoptedAt: 1 },
    files: [
      {
        path: "model.safetensors",
        sizeBytes: model.length,
        mtimeMs: 1,
        sha256: null,
        extents: [
          { ...piece, offset: 0, length: 2 * MIB },
          { ...piece, offset: 2 * MIB, length: MIB },
        ],
      },
    ],
  });
});
beforeEach(async () => {
  folder = await mkdtemp(join(tmpdir(), "tidemark-adopted-"));
  target = join(folder, "out", "checkpoint-5");
});
afterEach(() => rm(folder, { recursive: true, force: true }));
afterAll(() => store.close());

function jobOf(hub: RestoreJob["hub"]): RestoreJob {
  return {
    command: {
      kind: "restore",
      id: "command-id-1",
      transferId: "transfer-id-1",
      checkpointId: manifest.id,
      run: manifest.run,
      step: manifest.step,
      targetPath: target,
    },
    hub,
    journals: join(folder, "journals"),
    signal: new AbortController().signal,
    onStart: () => undefined,
    beforePlaced: async () => undefined,
  };
}
const restored = async () => (await readFile(join(target, "model.safetensors"))).equals(model);

test("is restored byte for byte, and the hub is told the checksums of what was read", async () => {
  const told: unknown[] = [];
  const readCheckpoint = () => ({ manifest, sha256: "" });
  await restore(store.engine(), jobOf(createFakeHub({ readCheckpoint, tellSums: (input) => void told.push(input) })));
  expect(await restored()).toBe(true);
  expect(told).toEqual([{ checkpointId: manifest.id, sums: [SUMS] }]);
});

test("is done also where the hub does not hear it", async () => {
  const tellSums = () => {
    throw new Fault("HUB_UNREACHABLE");
  };
  await restore(store.engine(), jobOf(createFakeHub({ readCheckpoint: () => ({ manifest, sha256: "" }), tellSums })));
  expect(await restored()).toBe(true);
});

test("is held to the checksums that are known since, and nothing is told again", async () => {
  const known = withSums(manifest, [SUMS]);
  const hub = createFakeHub({ readCheckpoint: () => ({ manifest: known, sha256: "" }) });
  await restore(store.engine(), jobOf(hub));
  expect(hub.asked).toEqual(["readCheckpoint"]);
  await rm(target, { recursive: true });
  const wrong = withSums(manifest, [["00000000", SUMS[1] ?? ""]]);
  const failed = restore(
    store.engine(),
    jobOf(createFakeHub({ readCheckpoint: () => ({ manifest: wrong, sha256: "" }) })),
  );
  await expect(failed).rejects.toMatchObject({ code: "CHECKSUM_MISMATCH" });
  expect(await readdir(join(folder, "out"))).not.toContain("checkpoint-5");
});

test("is refused when its object is another one since", async () => {
  const [file] = manifest.files;
  const extents = (file?.extents ?? []).map((piece) => ({ ...piece, etag: '"another"' }));
  const changed = { ...manifest, files: [{ ...file, extents }] };
  const failed = restore(
    store.engine(),
    jobOf(createFakeHub({ readCheckpoint: () => ({ manifest: changed, sha256: "" }) })),
  );
  await expect(failed).rejects.toMatchObject({ code: "OBJECT_CHANGED" });
});
