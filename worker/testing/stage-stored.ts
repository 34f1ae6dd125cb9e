import { randomBytes } from "node:crypto";
import { join } from "node:path";
import { manifest as manifestSchema, type Manifest } from "#protocol/checkpoint/checkpoint.ts";
import { readPut } from "#storage/s3/answers.ts";
import { crc32Hex } from "#storage/checksums/crc32.ts";
import { callStore } from "../transfer/engine.ts";
import type { TrialStore } from "./trial-store.ts";
import { createFakeHub } from "./fake-hub.ts";
import type { RestoreJob } from "../restore/restore-job.ts";

/** For tests of reading back: a file in the store, the manifest that names it, and a restore of it. */

export interface StoredFile {
  key: string;
  bytes: Buffer;
  /** Places of the file's pieces in its object, with their checksums. */
  pieces: { key: string; offset: number; length: number; crc32: string; etag: string }[];
}

/** Stores random bytes under a key, cut into pieces of `pieceBytes`. */
export const storeFile = (
  store: TrialStore,
  { key, sizeBytes, pieceBytes }: { key: string; sizeBytes: number; pieceBytes: number },
): Promise<StoredFile> => storeBytes(store, { key, bytes: randomBytes(sizeBytes), pieceBytes });

/** Stores these bytes under a key, cut into pieces of `pieceBytes`. */
export async function storeBytes(
  store: TrialStore,
  { key, bytes, pieceBytes }: { key: string; bytes: Buffer; pieceBytes: number },
): Promise<StoredFile> {
  const sizeBytes = bytes.length;
  const operation = { op: "put", key, sizeBytes, crc32: crc32Hex(bytes), nonce: "n" } as const;
  const { signal } = new AbortController();
  const { etag } = await callStore(store.engine(), { operation, signal, body: bytes }, readPut);
  const pieces: StoredFile["pieces"] = [];
  for (let offset = 0; offset < sizeBytes; offset += pieceBytes) {
    const piece = bytes.subarray(offset, offset + pieceBytes);
    pieces.push({ key, offset, length: piece.length, crc32: crc32Hex(piece), etag });
  }
  return { key, bytes, pieces };
}

export const STAGED_DATE_MS = 1_700_000_000_000;

/** Fields that are the same in every staged manifest. */
export const STAGED_HEAD = {
  version: 1,
  id: "checkpoint-id-1",
  parent: null,
  attempt: "aaaaaaaaaaaa",
  framework: null,
  metrics: {},
  capturedAt: 1,
  homes: [{ profileId: "profile-id-1", bucket: "trial", prefix: "" }],
  transform: { kind: "none" },
};

/** Returns the manifest of step 500 of run llama: the stored file as `deep/model.safetensors`, and `empty.txt`. */
export const manifestOf = ({ bytes, pieces }: StoredFile): Manifest =>
  manifestSchema.parse({
    ...STAGED_HEAD,
    format: "tidemark.checkpoint",
    run: "llama",
    step: 500,
    writerEpoch: 1,
    node: { id: "node-id-1", name: "gpu-1" },
    sizeBytes: bytes.length,
    files: [
      {
        path: "deep/model.safetensors",
        sizeBytes: bytes.length,
        mtimeMs: STAGED_DATE_MS,
        sha256: null,
        extents: pieces,
      },
      { path: "empty.txt", sizeBytes: 0, mtimeMs: STAGED_DATE_MS, sha256: null, extents: [] },
    ],
  });

/** Returns a restore into `target` with its journals in `folder`. The hub answers with `given` as the checkpoint. */
export const restoreJobOf = (
  about: Pick<RestoreJob["command"], "run" | "step"> & { id: string },
  at: { folder: string; target: string; given: unknown },
): RestoreJob => ({
  command: {
    kind: "restore",
    id: "command-id-1",
    transferId: "transfer-id-1",
    checkpointId: about.id,
    run: about.run,
    step: about.step,
    targetPath: at.target,
  },
  hub: createFakeHub({ readCheckpoint: () => ({ manifest: at.given, sha256: "" }) }),
  journals: join(at.folder, "journals"),
  signal: new AbortController().signal,
  onStart: () => undefined,
  beforePlaced: async () => undefined,
  replaced: {},
});

/** Returns a callback that watches a restore, and stops it once this many bytes are sure. */
export function stopOnceSure(stop: AbortController, sureBytes: number): RestoreJob["onStart"] {
  return (counters) => {
    const look = setInterval(() => {
      if (counters.bytesSure < sureBytes) return;
      clearInterval(look);
      stop.abort();
    }, 5);
  };
}
