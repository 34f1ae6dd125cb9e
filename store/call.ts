/** Arguments of every operation: the store, and the request to answer. */
import type { Identity } from "./authenticate.ts";
import type { BlobFolder } from "./blobs.ts";
import { findBucket, forgetGarbage, type Bucket, type FreedBlobs } from "./catalog-objects.ts";
import type { Database } from "./database.ts";
import type { Quirks } from "./quirks.ts";
import type { S3Request } from "./request.ts";
import type { Reply } from "./reply.ts";
import { S3Error } from "./s3-error.ts";

/** The parts of a running store. `now` is its clock, epoch ms. */
export type Store = {
  readonly database: Database;
  readonly blobs: BlobFolder;
  readonly quirks: Quirks;
  readonly now: () => number;
  /** Deletions of files in progress; a stop waits for them. */
  readonly cleaning: Set<Promise<void>>;
};

/** One authenticated request. `headers` include those that a presigned URL carries in its query. */
export type Call = {
  readonly request: S3Request;
  readonly identity: Identity;
  readonly headers: ReadonlyMap<string, string>;
  readonly bucket: string;
  readonly key: string;
  /** Returns the body as sent. Read it at most once. */
  readonly body: () => AsyncIterable<Buffer>;
};

/** Answers one operation. Throws S3Error to refuse. */
export type Handler = (store: Store, call: Call) => Reply | Promise<Reply>;

/** Returns the bucket. Throws NoSuchBucket. */
export function requireBucket(store: Store, name: string): Bucket {
  const bucket = findBucket(store.database, name);
  if (bucket === undefined) {
    throw new S3Error("NoSuchBucket", "The specified bucket does not exist", { fields: { BucketName: name } });
  }
  return bucket;
}

/** Deletes the files of freed blobs, then their garbage records. The next start retries failed deletions. */
export function sweep(store: Store, freed: FreedBlobs): void {
  if (freed.length === 0) return;
  const cleaning = store.blobs
    .remove(freed)
    .then((gone) => forgetGarbage(store.database, gone))
    .catch(() => undefined)
    .finally(() => store.cleaning.delete(cleaning));
  store.cleaning.add(cleaning);
}

/** Returns an integer query parameter, limited to `max`. Throws InvalidArgument. */
export function integerQuery(
  call: Call,
  name: string,
  bounds: { readonly fallback: number; readonly max: number },
): number {
  const text = call.request.query.get(name);
  if (text === undefined || text === "") return bounds.fallback;
  if (!/^\d{1,10}$/.test(text)) {
    throw new S3Error("InvalidArgument", `Provided ${name} not an integer or within integer range`, {
      fields: { ArgumentName: name, ArgumentValue: text },
    });
  }
  return Math.min(Number(text), bounds.max);
}

/** Formats a time as an HTTP date. */
export function httpDate(ms: number): string {
  return new Date(ms).toUTCString();
}
