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
import type { Bench } from "../store-session/store-session.ts";
import { deleteObject, deleteObjects } from "../object-copy/requests/delete-objects.ts";
import { findObject } from "../object-copy/requests/head.ts";
import { listUploads } from "../object-copy/listing/list-uploads.ts";
import { sweepUploads } from "../object-copy/requests/sweep-uploads.ts";

/**
 * What a comparison needs of the bucket beside the engines: something to fetch, a look at what arrived, and tidiness; with
 * a key that is here, or with signatures of a hub.
 */
export interface StoreSide {
  /** As it is known now: the store may have named another region than was given. */
  readonly access: StoreAccess;
  /** The key of now. Null: engines that need a key do not run. Faults: of its source. */
  credential(): Promise<Credential | null>;
  /** Null: there is a key. */
  readonly hub: HubReach | null;
  /** Puts what downloads fetch, as a checkpoint is put: tried again until it is there. Faults: those of the store. */
  putReference(about: { path: string; key: string; scratch: string; signal: AbortSignal }): Promise<void>;
  /** How long an object is; null where there is none. Faults: those of the store. */
  sizeOf(at: { key: string; signal: AbortSignal }): Promise<number | null>;
  /** Removes one object. What cannot be removed now is once more at the end. Never throws but for CANCELLED. */
  remove(at: { key: string; signal: AbortSignal }): Promise<void>;
  /** A URL that fetches one object without a key, for a while. Faults: of signing. */
  signedGet(key: string, sizeBytes: number): Promise<string>;
}

const URL_LIFE_MS = 3_600_000;

/** With a key that is here. */
export const directSide = (bench: Bench): StoreSide => ({
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

/** One file to one key with our own engine, gone on with until it is there. Faults: those of the store. */
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

/** Faults: CANCELLED. */
export async function unlessRefused(work: () => Promise<void>): Promise<void> {
  try {
    await work();
  } catch (error) {
    if (isFault(error) && error.code === "CANCELLED") throw error;
  }
}

const MOST_PAGES = 20;

/**
 * Removes all objects and all unfinished uploads below a folder of ours.
 * @returns how many are still there. Faults: those of the store.
 */
export async function removeAll(bench: Bench, about: { folder: string; signal: AbortSignal }): Promise<number> {
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

/** Not every store lists uploads, and not every key may. */
function unlessCancelled(error: unknown): never[] {
  if (isFault(error) && error.code === "CANCELLED") throw error;
  return [];
}
