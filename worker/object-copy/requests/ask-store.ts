import { isFault } from "#protocol/faults/fault.ts";
import type { SignedRequest } from "#protocol/wire/operations.ts";
import type { HttpAnswer } from "#storage/s3/answers.ts";
import { locate, locateBucket, pathOf } from "#storage/signing/signing.ts";
import { presign, type Credential, type QueryPairs } from "#storage/signing/sigv4.ts";
import { ask, doubtSkew } from "#worker/transfer/engine.ts";
import { createPatience, withRetry } from "#worker/transfer/store-session/retry.ts";
import type { StoreSession } from "#worker/store-session/store-session.ts";

/** A control request for which the transfer engine has no operation: list buckets, delete many, copy inside the store. */
export interface Question {
  /** The S3 name: `CopyObject`. */
  op: string;
  method: SignedRequest["method"];
  /** Target: `service` is the endpoint without a bucket, `bucket` is the bucket without a key. */
  at: "service" | "bucket" | { key: string };
  query?: QueryPairs;
  /** Headers, all of which are signed. */
  headers?: Record<string, string>;
  body?: Buffer;
  signal: AbortSignal;
}

const LIFETIME_MS = 600_000;

/** Asks until `read` accepts an answer; every try is signed anew. @throws Faults of `read` and of the network */
export function askStore<T>(
  storeSession: StoreSession,
  question: Question,
  read: (answer: HttpAnswer) => T,
): Promise<T> {
  const { engine } = storeSession;
  const { op, signal, body, at } = question;
  const subject = typeof at === "object" ? at.key : storeSession.access.bucket;
  const patience = createPatience(engine.retrier.clock);
  return withRetry(engine.retrier, { signal, patience }, async () => {
    const { signedFor } = engine.store;
    const request = signQuestion(storeSession, question, storeSession.keys.now() ?? (await storeSession.keys.fresh()));
    const exchange = { signedFor, request, op, subject, signal, ...(body === undefined ? {} : { body }) };
    const answer = await ask(engine, exchange);
    try {
      return read(answer);
    } catch (error) {
      throw isFault(error) && error.code === "CLOCK_SKEW" ? doubtSkew(engine, error) : error;
    }
  });
}

function signQuestion(storeSession: StoreSession, question: Question, credential: Credential): SignedRequest {
  const { access } = storeSession;
  const { method, query = [], headers = {} } = question;
  const nowMs = storeSession.now();
  const url = presign(
    { method, ...placeOf(access, question.at), query, headers },
    { credential, region: access.region, nowMs, lifetimeMs: LIFETIME_MS },
  );
  return { method, url, headers, expiresAt: nowMs + LIFETIME_MS };
}

function placeOf(access: StoreSession["access"], at: Question["at"]): { origin: string; path: string } {
  if (typeof at === "object") return locate(access, at.key);
  if (at === "bucket") return locateBucket(access);
  const { protocol, host } = new URL(access.endpoint);
  return { origin: `${protocol}//${host}`, path: `${pathOf(access.endpoint)}/` };
}
