import type { FaultData } from "#protocol/faults/fault.ts";

/**
 * What a browser keeps of its uploads in IndexedDB, so that they outlive the page: what goes where, how far each file got,
 * and the handles of the files where the browser gives any. No bytes and nothing secret.
 */

export type FileState = "waiting" | "running" | "done" | "same" | "failed" | "needs-file";

export interface KeptFile {
  batchId: string;
  /** Position in its batch; with it the name in the database. */
  index: number;
  /** The hub's name of its upload. */
  id: string;
  key: string;
  path: string;
  sizeBytes: number;
  /** Epoch ms. */
  modifiedAt: number;
  handle: FileSystemFileHandle | null;
  state: FileState;
  /** Null until the hub has begun it. */
  partBytes: number | null;
  /** Acknowledged by the store when this was written; what an older version of the page kept has none. */
  doneBytes?: number;
  fault: FaultData | null;
}

export interface KeptBatch {
  id: string;
  /** Whose it is: a browser may be shared. */
  personId: string;
  profileId: string;
  profileName: string;
  bucket: string;
  /** Ends with `/`, or is empty. */
  prefix: string;
  ifThere: "keep" | "replace";
  createdAt: number;
  /** By the person, or by what stopped all of it. */
  isPaused: boolean;
  /** What stopped all of it; null when it was a person. */
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
  // Another tab with a later version must not wait for this one.
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
