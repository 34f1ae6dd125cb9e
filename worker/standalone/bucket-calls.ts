import { createHash } from "node:crypto";
import { Fault, isFault } from "#protocol/faults/fault.ts";
import { quoteEtag } from "#storage/answers/check-range.ts";
import type { ArchiveState } from "#storage/answers/storage-class.ts";
import { faultOfAnswer, type HttpAnswer } from "#storage/answers/faults.ts";
import { listInRanges } from "../object-copy/listing/list-in-ranges.ts";
import { listPages, type ListedObject } from "../object-copy/listing/list-objects.ts";
import { askStore } from "../object-copy/requests/ask-store.ts";
import { findObject, headObject } from "../object-copy/requests/head.ts";
import { readPieces } from "../object-copy/requests/read-range.ts";
import type { StoreSession } from "../store-session/store-session.ts";

/** Reads and writes small objects of a bucket (claims, leases, manifests) as a whole, with this node's keys. */
export interface BucketCalls {
  /**
   * Returns an object; null when there is none. Faults: BAD_INPUT when it is not text, those of the store, CANCELLED.
   */
  read(key: string): Promise<StoredText | null>;
  /**
   * Writes under a condition. Returns the new ETag, or null when the condition did not hold. If an answer was lost, the
   * write is recognized by its text, so every text must be unique. Faults: those of the store, CANCELLED.
   */
  write(key: string, text: string, condition?: WriteCondition): Promise<string | null>;
  /** Lists objects. Faults: those of the store, CANCELLED. */
  list(prefix: string): AsyncGenerator<ListedObject>;
  /** Returns whether the bytes of an object can be read now. Faults: NO_SUCH_KEY, those of the store, CANCELLED. */
  archiveState(key: string): Promise<ArchiveState>;
  /** Returns the names of the folders directly below a prefix. Faults: those of the store, CANCELLED. */
  folders(prefix: string): Promise<string[]>;
  /** Deletes an object; a missing one is no failure. Faults: those of the store, CANCELLED. */
  remove(key: string): Promise<void>;
  /** Number of requests that are useful in parallel. */
  readonly width: number;
  /** Returns epoch ms by the store's clock: its last `Date` plus the time since, measured by a monotonic clock. */
  now(): number;
}

export interface StoredText {
  text: string;
  /** Includes the quotes. */
  etag: string;
  /** Epoch ms by the store's clock; null when the store does not tell. */
  modifiedAtMs: number | null;
}

/** `absent`: only when no object exists. An ETag: only over that version. */
export type WriteCondition = { kind: "absent" } | { kind: "version"; etag: string };

/** Larger than the largest manifest. */
const MOST_BYTES = 64 * 1024 * 1024;
/** An answer held in memory is cut off above 8 MiB; larger objects are read in ranges. */
const LARGE_BYTES = 4 * 1024 * 1024;

const isMissing = (error: unknown): boolean =>
  isFault(error) && (error.code === "NO_SUCH_KEY" || error.code === "NOT_FOUND");

const headersOf = (condition: WriteCondition | undefined): Record<string, string> => {
  if (condition === undefined) return {};
  return condition.kind === "absent" ? { "if-none-match": "*" } : { "if-match": condition.etag };
};

const instantOf = (text: string | undefined): number | null => {
  const at = Date.parse(text ?? "");
  return Number.isNaN(at) ? null : at;
};

function textOf(body: Buffer, key: string): string {
  try {
    return new TextDecoder("utf-8", { fatal: true }).decode(body);
  } catch {
    throw new Fault("BAD_INPUT", { op: "GetObject", subject: key, detail: "it is no text" });
  }
}

function etagOf(answer: HttpAnswer, at: { op: string; key: string }): string {
  const { etag } = answer.headers;
  if (etag !== undefined) return quoteEtag(etag);
  throw new Fault("UNEXPECTED_ANSWER", { op: at.op, subject: at.key, detail: "it has no ETag" });
}

/** Creates the calls over a store session. `width`: number of connections that its requests share. */
export function createBucketCalls(
  storeSession: StoreSession,
  { signal, width }: { signal: AbortSignal; width: number },
): BucketCalls {
  let clock: { storeMs: number; seenMs: number } | null = null;
  const learnTime = ({ headers }: HttpAnswer) => {
    const storeMs = instantOf(headers["date"]);
    if (storeMs !== null) clock = { storeMs, seenMs: performance.now() };
  };
  /** Returns a small object; null when it is too large for one answer. */
  const readSmall = (key: string): Promise<StoredText | null> =>
    askStore(storeSession, { op: "GetObject", method: "GET", at: { key }, headers: RANGE, signal }, (answer) => {
      learnTime(answer);
      const op = "GetObject";
      const isEmpty = answer.status === 416;
      if (answer.status !== 200 && answer.status !== 206 && !isEmpty) throw faultOfAnswer({ op, subject: key, answer });
      if (isEmpty || answer.body.length >= LARGE_BYTES) return null;
      const modifiedAtMs = instantOf(answer.headers["last-modified"]);
      return { text: textOf(answer.body, key), etag: etagOf(answer, { op, key }), modifiedAtMs };
    });
  const readLarge = async (key: string): Promise<StoredText | null> => {
    const head = await findObject(storeSession, { key, signal });
    if (head === null) return null;
    const { sizeBytes: length, etag, modifiedAtMs } = head;
    if (length > MOST_BYTES) throw new Fault("TOO_LARGE", { op: "GetObject", subject: key });
    const pieces: Buffer[] = [];
    const about = { key, etag, offset: 0, length, signal, ahead: 1 };
    for await (const piece of readPieces(storeSession, about)) pieces.push(Buffer.from(piece));
    return { text: textOf(Buffer.concat(pieces), key), etag, modifiedAtMs };
  };
  const read = async (key: string): Promise<StoredText | null> => {
    try {
      return (await readSmall(key)) ?? (await readLarge(key));
    } catch (error) {
      if (isMissing(error)) return null;
      throw error;
    }
  };
  const put = async (key: string, text: string, condition: WriteCondition | undefined): Promise<string | null> => {
    const op = "PutObject";
    const body = Buffer.from(text);
    if (body.length > MOST_BYTES) throw new Fault("TOO_LARGE", { op, subject: key });
    const headers = {
      "content-length": String(body.length),
      "content-md5": createHash("md5").update(body).digest("base64"),
      ...headersOf(condition),
    };
    try {
      return await askStore(storeSession, { op, method: "PUT", at: { key }, headers, body, signal }, (answer) => {
        learnTime(answer);
        if (answer.status !== 200) throw faultOfAnswer({ op, subject: key, answer });
        return etagOf(answer, { op, key });
      });
    } catch (error) {
      const isOther = isFault(error) && error.code === "ALREADY_EXISTS";
      if (isOther || (condition?.kind === "version" && isMissing(error))) return null;
      throw error;
    }
  };
  return {
    read,
    width,
    now: () => (clock === null ? storeSession.now() : clock.storeMs + (performance.now() - clock.seenMs)),
    write: async (key, text, condition) => {
      const etag = await put(key, text, condition);
      if (etag !== null || condition === undefined) return etag;
      // The first try may have succeeded although its answer was lost, so that the second met its object.
      const there = await read(key);
      return there?.text === text ? there.etag : null;
    },
    list: (prefix) => listInRanges((page) => listPages(storeSession, { ...page, signal }), prefix),
    archiveState: async (key) => (await headObject(storeSession, { key, signal })).archive,
    folders: async (prefix) => {
      const found: string[] = [];
      for await (const page of listPages(storeSession, { prefix, delimiter: "/", signal })) found.push(...page.folders);
      return found.map((folder) => folder.slice(prefix.length).replace(/\/$/, ""));
    },
    remove: async (key) => {
      const op = "DeleteObject";
      await askStore(storeSession, { op, method: "DELETE", at: { key }, signal }, (answer) => {
        if (answer.status !== 204 && answer.status !== 200 && answer.status !== 404)
          throw faultOfAnswer({ op, subject: key, answer });
      });
    },
  };
}

const RANGE = { range: `bytes=0-${LARGE_BYTES - 1}` };
