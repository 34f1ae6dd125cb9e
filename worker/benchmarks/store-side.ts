import { join } from "node:path";
import { isFault } from "#protocol/faults/fault.ts";
import { locate, type StoreAccess } from "#storage/signing/signing.ts";
import { presign, type Credential } from "#storage/signing/sigv4.ts";
import { listObjects } from "../object-copy/listing/list-objects.ts";
import { uploadFiles } from "../object-copy/upload.ts";
import type { HubReach } from "../engines/driver.ts";
import type { Engine } from "../transfer/engine.ts";
import type { LostCreate } from "../transfer/upload/send-job.ts";
import { abandonUpload } from "../transfer/upload/send.ts";
import { readIdentity } from "../base/identity.ts";
import type { StoreSession } from "../store-session/store-session.ts";
import { deleteObject, deleteObjects } from "../object-copy/requests/delete-objects.ts";
import { findObject } from "../object-copy/requests/head.ts";
import { listUploads } from "../object-copy/listing/list-uploads.ts";
import { sweepUploads } from "../object-copy/requests/sweep-uploads.ts";

/**
 * Requests to the bucket that a comparison makes beside its engines: it puts the object to download, checks what arrived, and
 * removes it. The requests are signed with a key of this machine or by a hub.
 */
export interface StoreSide {
  /** Present address of the store, which may have named another region than the given one. */
  readonly access: StoreAccess;
  /** Returns the present key; null: engines that need a key do not run. Faults: those of the key's source. */
  credential(): Promise<Credential | null>;
  /** The hub that signs; null when this machine has a key. */
  readonly hub: HubReach | null;
  /** Puts the object that downloads fetch, as a checkpoint is put: retried until it is there. Faults: those of the store. */
  putReference(about: { path: string; key: string; scratch: string; signal: AbortSignal }): Promise<void>;
  /** Returns the size of an object, bytes; null when there is none. Faults: those of the store. */
  sizeOf(at: { key: string; signal: AbortSignal }): Promise<number | null>;
  /** Removes one object. A removal that fails is repeated at the end. Throws CANCELLED only. */
  remove(at: { key: string; signal: AbortSignal }): Promise<void>;
  /** Returns a presigned URL for one object. Faults: those of signing. */
  signedGet(key: string, sizeBytes: number): Promise<string>;
}

const URL_LIFE_MS = 3_600_000;

/** Signs with a key of this machine. */
export const directSide = (bench: StoreSession): StoreSide => ({
  get access() {
    return bench.access;
  },
  credential: async () => bench.keys.now() ?? (await bench.keys.fresh()),
  hub: null,
  putReference: (about) =>
    putObject(bench.engine, { ...about, sweep: (lost) => sweepUploads(bench, { ...lost, signal: about.signal }) }),
  sizeOf: async (at) => (await findObject(bench, at))?.sizeBytes ?? null,
  remove: (at) => unlessRefused(() => deleteObject(bench, at)),
  signedGet: async (key) =>
    presign(
      { method: "GET", ...locate(bench.access, key), query: [], headers: {} },
      {
        credential: bench.keys.now() ?? (await bench.keys.fresh()),
        region: bench.access.region,
        nowMs: bench.now(),
        lifetimeMs: URL_LIFE_MS,
      },
    ),
});

/** Uploads one file to one key with our own engine, resuming until it is there. Faults: those of the store. */
export async function putObject(
  engine: Engine,
  about: {
    path: string;
    key: string;
    scratch: string;
    signal: AbortSignal;
    sweep(lost: LostCreate): Promise<void>;
  },
): Promise<void> {
  const { path, key, scratch, signal, sweep } = about;
  const identity = await readIdentity(path);
  await uploadFiles(engine, {
    files: [{ path, identity, sizeBytes: identity.sizeBytes }],
    keyOf: () => key,
    journalPath: join(scratch, "reference.journal"),
    partBytes: null,
    sweep,
    signal,
    onStart: () => undefined,
  });
}

/** Runs `work` and ignores that it failed. Faults: CANCELLED. */
export async function unlessRefused(work: () => Promise<void>): Promise<void> {
  try {
    await work();
  } catch (error) {
    if (isFault(error) && error.code === "CANCELLED") throw error;
  }
}

const MOST_PAGES = 20;

/**
 * Removes all objects and all unfinished uploads below a folder that a comparison made.
 * @returns how many are still there. Faults: those of the store.
 */
export async function removeAll(bench: StoreSession, about: { folder: string; signal: AbortSignal }): Promise<number> {
  const { folder: prefix, signal } = about;
  for (let page = 0; page < MOST_PAGES; page++) {
    const uploads = await listUploads(bench, { prefix, signal }).catch(unlessCancelled);
    if (uploads.length === 0) break;
    await Promise.all(
      uploads.map(({ key, uploadId }) => abandonUpload(bench.engine, { key, uploadId, signal }).catch(() => undefined)),
    );
  }
  const objects = await listObjects(bench, { prefix, signal });
  const failures = await deleteObjects(bench, { objects, signal, onDeleted: () => undefined });
  return failures.length;
}

/** Rethrows a cancellation and ignores other errors: some stores cannot list uploads, and some keys may not. */
function unlessCancelled(error: unknown): never[] {
  if (isFault(error) && error.code === "CANCELLED") throw error;
  return [];
}
