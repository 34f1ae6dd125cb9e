import type { S3Client } from "@aws-sdk/client-s3";
import { Fault } from "#protocol/faults/fault.ts";
import { type ListedUpload, listPage, uploadsPage } from "./browse.ts";

/**
 * Whole listings, page by page. A listing that failed is not "there is nothing": every doubt about a page (another bucket, no
 * word on whether more follows, a token that leads in a circle) ends in a Fault, never in a shorter list. The order of
 * keys is the store's own (Storj does not sort), so callers sort what they need sorted.
 */

export interface ListedObject {
  key: string;
  sizeBytes: number;
  /** With its quotes, as in the header. */
  etag: string;
  /** Epoch ms by the store's clock. */
  modifiedAt: number;
  /** `GLACIER` and the like; null where the store says none. */
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
  /** Names that are not valid UTF-8, as people see them. No request can ask for such a one: it harms no other. */
  unreadable: string[];
}

const MOST_ROWS = 1000;

/** Every object under `prefix`, after `startAfter` in the store's order. Faults of the store are thrown mid-way. */
export async function* listObjects(
  client: S3Client,
  input: Listed & { startAfter?: string },
): AsyncGenerator<ListedObject> {
  for await (const { rows } of listObjectPages(client, input)) yield* rows;
}

/** As `listObjects`, for those who also say which names cannot be read: a page may have no other. */
export function listObjectPages(
  client: S3Client,
  input: Listed & { startAfter?: string },
): AsyncGenerator<Page<ListedObject>> {
  const { bucket, prefix, startAfter = null, pageSize: limit = MOST_ROWS, signal } = input;
  const asked = { bucket, prefix, delimiter: "" as const, startAfter, limit, signal, mayName: true as const };
  return everyPage({ op: "ListObjectsV2", input }, async (from) => {
    const { objects: rows, unreadable, next } = await listPage(client, { ...asked, from });
    return { rows, unreadable, next };
  });
}

/** Every multipart upload under `prefix` that is neither completed nor aborted. */
export async function* listUploads(client: S3Client, input: Listed): AsyncGenerator<ListedUpload> {
  const { bucket, prefix, pageSize: limit = MOST_ROWS, signal } = input;
  const pages = everyPage({ op: "ListMultipartUploads", input }, async (from) => {
    const { uploads: rows, unreadable, next } = await uploadsPage(client, { bucket, prefix, from, limit, signal });
    return { rows, unreadable, next };
  });
  for await (const { rows } of pages) yield* rows;
}

async function* everyPage<T>(
  { op, input: { bucket, prefix } }: { op: string; input: Listed },
  ask: (from: string | null) => Promise<Page<T> & { next: string | null }>,
): AsyncGenerator<Page<T>> {
  const seen = new Set<string>();
  for (let from: string | null = null; ;) {
    const page: Awaited<ReturnType<typeof ask>> = await ask(from);
    yield { rows: page.rows, unreadable: page.unreadable };
    if (page.next === null) return;
    if (seen.has(page.next)) {
      const detail = "a page that does not say where the next one starts";
      throw new Fault("UNEXPECTED_ANSWER", { op, subject: `${bucket}/${prefix}`, detail });
    }
    seen.add(page.next);
    from = page.next;
  }
}
