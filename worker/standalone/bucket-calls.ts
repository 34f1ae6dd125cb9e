import { createHash } from "node:crypto";
import { Fault, isFault } from "#protocol/faults/fault.ts";
import { quoteEtag } from "#storage/answers/check-range.ts";
import { faultOfAnswer, type HttpAnswer } from "#storage/answers/faults.ts";
import { listPages, type ListedObject } from "../object-copy/listing/list-objects.ts";
import { askStore } from "../object-copy/requests/ask-store.ts";
import type { Bench } from "../store-session/store-session.ts";

/** Small objects of a bucket (claims, leases, manifests), read and written in one piece with keys that are here. */
export interface BucketCalls {
  /** Returns the object's text and its ETag with quotes; null where there is none. Faults: those of the store, CANCELLED. */
  read(key: string): Promise<{ text: string; etag: string } | null>;
  /**
   * Writes under a condition; returns the new ETag, or null when the condition did not hold. Faults: those of the store, CANCELLED.
   */
  write(key: string, text: string, condition?: WriteCondition): Promise<string | null>;
  /** Faults: those of the store, CANCELLED. */
  list(prefix: string): AsyncGenerator<ListedObject>;
  /** An object that is not there is what was wanted. Faults: those of the store, CANCELLED. */
  remove(key: string): Promise<void>;
  /** Epoch ms by the store's clock, as its answers tell it. */
  now(): number;
}

/** `absent`: only where nothing lies. An ETag: only over that version. */
export type WriteCondition = { kind: "absent" } | { kind: "version"; etag: string };

/** More than the largest manifest. */
const MOST_BYTES = 64 * 1024 * 1024;

const isMissing = (error: unknown): boolean =>
  isFault(error) && (error.code === "NO_SUCH_KEY" || error.code === "NOT_FOUND");

const headersOf = (condition: WriteCondition | undefined): Record<string, string> => {
  if (condition === undefined) return {};
  return condition.kind === "absent" ? { "if-none-match": "*" } : { "if-match": condition.etag };
};

function readText(answer: HttpAnswer, key: string): { text: string; etag: string } {
  const op = "GetObject";
  if (answer.status !== 200) throw faultOfAnswer({ op, subject: key, answer });
  const { etag } = answer.headers;
  if (etag === undefined) throw new Fault("UNEXPECTED_ANSWER", { op, subject: key, detail: "it has no ETag" });
  try {
    return { text: new TextDecoder("utf-8", { fatal: true }).decode(answer.body), etag: quoteEtag(etag) };
  } catch {
    throw new Fault("BAD_INPUT", { op, subject: key, detail: "it is no text" });
  }
}

export function createBucketCalls(bench: Bench, signal: AbortSignal): BucketCalls {
  return {
    now: bench.now,
    read: async (key) => {
      try {
        return await askStore(bench, { op: "GetObject", method: "GET", at: { key }, signal }, (answer) =>
          readText(answer, key),
        );
      } catch (error) {
        if (isMissing(error)) return null;
        throw error;
      }
    },
    write: async (key, text, condition) => {
      const op = "PutObject";
      const body = Buffer.from(text);
      if (body.length > MOST_BYTES) throw new Fault("TOO_LARGE", { op, subject: key });
      const headers = {
        "content-length": String(body.length),
        "content-md5": createHash("md5").update(body).digest("base64"),
        ...headersOf(condition),
      };
      try {
        return await askStore(bench, { op, method: "PUT", at: { key }, headers, body, signal }, (answer) => {
          if (answer.status !== 200) throw faultOfAnswer({ op, subject: key, answer });
          const { etag } = answer.headers;
          if (etag === undefined) throw new Fault("UNEXPECTED_ANSWER", { op, subject: key, detail: "it has no ETag" });
          return quoteEtag(etag);
        });
      } catch (error) {
        const isOther = isFault(error) && error.code === "ALREADY_EXISTS";
        if (isOther || (condition?.kind === "version" && isMissing(error))) return null;
        throw error;
      }
    },
    list: async function* (prefix) {
      for await (const { objects } of listPages(bench, { prefix, signal })) yield* objects;
    },
    remove: async (key) => {
      const op = "DeleteObject";
      await askStore(bench, { op, method: "DELETE", at: { key }, signal }, (answer) => {
        if (answer.status !== 204 && answer.status !== 200 && answer.status !== 404)
          throw faultOfAnswer({ op, subject: key, answer });
      });
    },
  };
}
