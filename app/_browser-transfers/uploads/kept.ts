import type { FaultData } from "#protocol/faults/fault.ts";

/**
 * Keeps uploads in IndexedDB, so that they survive the page: targets, progress of each file, and file handles where the
 * browser has them. Neither content nor secrets are stored.
 */

export type FileState = "waiting" | "running" | "done" | "same" | "failed" | "needs-file";

export interface KeptFile {
  batchId: string;
  /** Position in its batch; the database key is batchId and index. */
  index: number;
  /** The hub's id of its upload. */
  id: string;
  key: string;
  path: string;
  sizeBytes: number;
  /** Epoch ms. */
  modifiedAt: number;
  handle: FileSystemFileHandle | null;
  state: FileState;
  /** Null until the hub has begun the upload. */
  partBytes: number | null;
  /** Bytes acknowledged by the store at the last write; absent in records of older versions of the page. */
  doneBytes?: number;
  fault: FaultData | null;
}

export interface KeptBatch {
  id: string;
  /** Owner, because people may share a browser. */
  personId: string;
  profileId: string;
  profileName: string;
  bucket: string;
  /** Empty, or ends with `/`. */
  prefix: string;
  ifThere: "keep" | "replace";
  createdAt: number;
  /** Set by the person, or by a fault that stopped the whole upload. */
  isPaused: boolean;
  /** Fault that stopped the whole upload; null when a person paused it. */
  fault: FaultData | null;
  roots: FileSystemHandle[];
}

export interface Kept {
  batches: (personId: string) => Promise<KeptBatch[]>;
  files: (batchId: string) => Promise<KeptFile[]>;
  putBatch: (batch: KeptBatch) => Promise<void>;
  putFiles: (files: readonly KeptFile[]) => Promise<void>;
  remove: (batchId: string) => Promise<void>;
  close: () => void;
}

const NAME = "tidemark-transfers";

const settled = <Result>(request: IDBRequest<Result>): Promise<Result> =>
  new Promise((resolve, reject) => {
    request.addEventListener("success", () => resolve(request.result));
    request.addEventListener("error", () => reject(request.error ?? new Error(NAME)));
  });

const done = (transaction: IDBTransaction): Promise<void> =>
  new Promise((resolve, reject) => {
    transaction.addEventListener("complete", () => resolve());
    transaction.addEventListener("abort", () => reject(transaction.error ?? new Error(NAME)));
  });

const rangeOf = (batchId: string): IDBKeyRange => IDBKeyRange.bound([batchId, 0], [batchId, Number.MAX_SAFE_INTEGER]);

export async function openKept(): Promise<Kept> {
  const request = indexedDB.open(NAME, 1);
  request.addEventListener("upgradeneeded", () => {
    request.result.createObjectStore("batches", { keyPath: "id" });
    request.result.createObjectStore("files", { keyPath: ["batchId", "index"] });
  });
  const db = await settled(request);
  // A tab with a newer schema version must not wait for this one.
  db.addEventListener("versionchange", () => db.close());
  return {
    batches: async (personId) => {
      const all = (await settled(db.transaction("batches").objectStore("batches").getAll())) as KeptBatch[];
      return all.filter((batch) => batch.personId === personId).sort((a, b) => a.createdAt - b.createdAt);
    },
    files: async (batchId) =>
      (await settled(db.transaction("files").objectStore("files").getAll(rangeOf(batchId)))) as KeptFile[],
    putBatch: async (batch) => {
      const transaction = db.transaction("batches", "readwrite");
      transaction.objectStore("batches").put(batch);
      await done(transaction);
    },
    putFiles: async (files) => {
      const transaction = db.transaction("files", "readwrite");
      for (const file of files) transaction.objectStore("files").put(file);
      await done(transaction);
    },
    remove: async (batchId) => {
      const transaction = db.transaction(["batches", "files"], "readwrite");
      transaction.objectStore("batches").delete(batchId);
      transaction.objectStore("files").delete(rangeOf(batchId));
      await done(transaction);
    },
    close: () => db.close(),
  };
}
