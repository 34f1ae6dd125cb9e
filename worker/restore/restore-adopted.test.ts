import { mkdtemp, readFile, readdir, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, afterEach, beforeAll, beforeEach, expect, test } from "vitest";
import { adoptedManifest, withSums, type AdoptedManifest } from "#protocol/checkpoint/adopted.ts";
import { Fault } from "#protocol/faults/fault.ts";
import { openTrialStore, type TrialStore } from "../testing/trial-store.ts";
import { createFakeHub } from "../testing/fake-hub.ts";
import { restore } from "./restore.ts";
import type { RestoreJob } from "./restore-job.ts";
import { STAGED_HEAD, restoreJobOf, storeFile } from "../testing/stage-stored.ts";

/** What another tool wrote: foreign keys, pinned by ETag, without checksums. */

const MIB = 1024 * 1024;
let store: TrialStore;
let model: Buffer;
let sums: string[];
let manifest: AdoptedManifest;
let folder: string;
let target: string;

beforeAll(async () => {
  store = await openTrialStore();
  const key = "experiments/checkpoint-5/model.safetensors";
  const stored = await storeFile(store, { key, sizeBytes: 3 * MIB, pieceBytes: 2 * MIB });
  model = stored.bytes;
  sums = stored.pieces.map(({ crc32 }) => crc32);
  manifest = adoptedManifest.parse({
    ...STAGED_HEAD,
    format: "tidemark.adopted",
    run: "experiments",
    step: 5,
    writerEpoch: 0,
    node: null,
    sizeBytes: model.length,
    origin: { place: "experiments/checkpoint-5/", kind: "folder", verdict: "unknown", reason: "", adoptedAt: 1 },
    files: [
      {
        path: "model.safetensors",
        sizeBytes: model.length,
        mtimeMs: 1,
        sha256: null,
        extents: stored.pieces.map((piece) => ({ ...piece, crc32: null })),
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

const jobOf = (hub: RestoreJob["hub"]): RestoreJob => ({
  ...restoreJobOf(manifest, { folder, target, given: null }),
  hub,
});
const restored = async () => (await readFile(join(target, "model.safetensors"))).equals(model);

test("is restored byte for byte, and the hub is told the checksums of what was read", async () => {
  const told: unknown[] = [];
  const readCheckpoint = () => ({ manifest, sha256: "" });
  await restore(store.engine(), jobOf(createFakeHub({ readCheckpoint, tellSums: (input) => void told.push(input) })));
  expect(await restored()).toBe(true);
  expect(told).toEqual([{ checkpointId: manifest.id, sums: [sums] }]);
});

test("is done also where the hub does not hear it", async () => {
  const tellSums = () => {
    throw new Fault("HUB_UNREACHABLE");
  };
  await restore(store.engine(), jobOf(createFakeHub({ readCheckpoint: () => ({ manifest, sha256: "" }), tellSums })));
  expect(await restored()).toBe(true);
});

test("is held to the checksums that are known since, and nothing is told again", async () => {
  const known = withSums(manifest, [sums]);
  const hub = createFakeHub({ readCheckpoint: () => ({ manifest: known, sha256: "" }) });
  await restore(store.engine(), jobOf(hub));
  expect(hub.asked).toEqual(["readCheckpoint"]);
  await rm(target, { recursive: true });
  const wrong = withSums(manifest, [["00000000", sums[1] ?? ""]]);
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
