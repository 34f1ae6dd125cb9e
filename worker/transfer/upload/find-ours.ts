import { Fault, isFault } from "#protocol/faults/fault.ts";
import type { Operation } from "#protocol/wire/operations.ts";
import { readHead } from "#storage/s3/answers.ts";
import { callStore, type Engine } from "../engine.ts";
import { withRetry } from "../store-session/retry.ts";
import { attempting, type SendRequests } from "./send-job.ts";

/**
 * Returns the ETag of the object if it exists with our size and our nonce; null otherwise. Asks once. Faults: those of the
 * store.
 */
export async function findOurs(engine: Engine, job: SendRequests): Promise<string | null> {
  const size = job.plan.parts.reduce((sum, part) => sum + part.length, 0);
  const operation: Operation = { op: "head", key: job.key };
  try {
    const head = await callStore(engine, { operation, signal: job.watch.signal }, readHead);
    return head.nonce === job.nonce && head.sizeBytes === size ? head.etag : null;
  } catch (error) {
    if (isFault(error) && (error.code === "NO_SUCH_KEY" || error.code === "NOT_FOUND")) return null;
    throw error;
  }
}

/** Works as `findOurs`, with retries until there is an answer. Faults: those of the store, CANCELLED. */
export const lookForOurs = (engine: Engine, job: SendRequests): Promise<string | null> =>
  withRetry(engine.retrier, attempting(job), () => findOurs(engine, job));

/**
 * Returns the ETag of the object that was just sent. Faults: SIZE_MISMATCH when the store does not show it as sent; those of
 * the store.
 */
export async function verifySent(engine: Engine, job: SendRequests): Promise<string> {
  const etag = await lookForOurs(engine, job);
  if (etag !== null) return etag;
  const detail = "the store does not show the object that was sent";
  throw new Fault("SIZE_MISMATCH", { op: "HeadObject", subject: job.key, detail });
}
