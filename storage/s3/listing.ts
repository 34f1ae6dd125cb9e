import type { S3Client } from "@aws-sdk/client-s3";
import { Fault } from "#protocol/faults/fault.ts";
import { createRepeatFinder } from "../answers/repeated-names.ts";
import { type ListedUpload, listPage, uploadsPage } from "./browse.ts";

/**
 * Complete listings, page by page. A failed listing must not look like an empty one. Every doubtful page (another bucket,
 * missing IsTruncated, a repeated token) is therefore a Fault. Keys keep the store's order, which may be unsorted
 * (Storj); a key that the store repeats comes once.
 */

export interface ListedObject {
  key: string;
  sizeBytes: number;
  /** With its quotes, as in the header. */
  etag: string;
  /** Epoch ms by the store's clock. */
  modifiedAt: number;
  /** Storage class, such as `GLACIER`; null where the store reports none. */
  storageClass: string | null;
}

interface Listed {
  bucket: string;
  prefix: string;
  pageSize?: number;
  signal?: AbortSignal;
}

interface Page<T> {
  rows: T[];
  /** Names that are not valid UTF-8, in displayable form. No request can ask for these objects. */
  unreadable: string[];
}

const MOST_ROWS = 1000;

/** Yields every object under `prefix`, after `startAfter`, in the store's order. Throws Faults of the store, also midway. */
export async function* listObjects(
  client: S3Client,
  input: Listed & { startAfter?: string },
): AsyncGenerator<ListedObject> {
  for await (const { rows } of listObjectPages(client, input)) yield* rows;
}

/** Yields pages of `listObjects` together with unreadable names. A page may consist of such names only. */
export function listObjectPages(
  client: S3Client,
  input: Listed & { startAfter?: string },
): AsyncGenerator<Page<ListedObject>> {
  const { bucket, prefix, startAfter = null, pageSize: limit = MOST_ROWS, signal } = input;
  const asked = { bucket, prefix, delimiter: "" as const, startAfter, limit, signal, mayName: true as const };
  return everyPage({ op: "ListObjectsV2", input, nameOf: ({ key }: ListedObject) => key }, async (from) => {
    const { objects: rows, unreadable, next } = await listPage(client, { ...asked, from });
    return { rows, unreadable, next };
  });
}

/** Yields every multipart upload under `prefix` that is neither completed nor aborted. */
export async function* listUploads(client: S3Client, input: Listed): AsyncGenerator<ListedUpload> {
  const { bucket, prefix, pageSize: limit = MOST_ROWS, signal } = input;
  const nameOf = ({ key, uploadId }: ListedUpload) => JSON.stringify([key, uploadId]);
  const pages = everyPage({ op: "ListMultipartUploads", input, nameOf }, async (from) => {
    const { uploads: rows, unreadable, next } = await uploadsPage(client, { bucket, prefix, from, limit, signal });
    return { rows, unreadable, next };
  });
  for await (const { rows } of pages) yield* rows;
}

async function* everyPage<T>(
  { op, input: { bucket, prefix }, nameOf }: { op: string; input: Listed; nameOf: (row: T) => string },
  ask: (from: string | null) => Promise<Page<T> & { next: string | null }>,
): AsyncGenerator<Page<T>> {
  const seen = new Set<string>();
  const finder = createRepeatFinder();
  for (let from: string | null = null; ;) {
    const page: Awaited<ReturnType<typeof ask>> = await ask(from);
    yield { rows: page.rows.filter((row) => !finder.isRepeated(nameOf(row))), unreadable: page.unreadable };
    if (page.next === null) return;
    if (seen.has(page.next)) {
      const detail = "a page that does not say where the next one starts";
      throw new Fault("UNEXPECTED_ANSWER", { op, subject: `${bucket}/${prefix}`, detail });
    }
    seen.add(page.next);
    from = page.next;
  }
}
