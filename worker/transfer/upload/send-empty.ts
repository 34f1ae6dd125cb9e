import { readPut } from "#storage/s3/answers.ts";
import { callSummed } from "../store-session/call-summed.ts";
import type { Engine } from "../engine.ts";
import { createPatience, withRetry } from "../store-session/retry.ts";

/**
 * Sends an empty object. Only plain objects may be empty: in a checkpoint an empty file has no object. Faults: those of the
 * store, CANCELLED.
 */
export async function sendEmpty(
  engine: Engine,
  about: { key: string; nonce: string; signal: AbortSignal },
): Promise<void> {
  const { key, nonce, signal } = about;
  const patience = createPatience(engine.retrier.clock);
  const sums = { crc32: "00000000", md5: "d41d8cd98f00b204e9800998ecf8427e" };
  await withRetry(engine.retrier, { signal, patience }, () =>
    callSummed(
      engine,
      (checksum) => ({
        operation: { op: "put", key, sizeBytes: 0, ...sums, checksum, nonce },
        signal,
        body: Buffer.alloc(0),
      }),
      ({ answer, subject }) => readPut(answer, subject),
    ),
  );
}
