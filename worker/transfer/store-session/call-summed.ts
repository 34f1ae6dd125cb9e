import { Fault } from "#protocol/faults/fault.ts";
import type { StoreChecksum } from "#protocol/wire/store-checksum.ts";
import type { HttpAnswer } from "#storage/s3/answers.ts";
import type { ProbeVerdict } from "#storage/profile-test/probe-traits.ts";
import { S3_NAMES } from "#storage/signing/signing.ts";
import { callStore, type Call, type Engine } from "../engine.ts";

/** The answer to a request, and the checksum that the request carried. */
export interface SummedAnswer {
  answer: HttpAnswer;
  subject: string;
  checksum: StoreChecksum;
}

/**
 * Works as `callStore` for requests that may carry a checksum (a Create, a part, an object). Sends the checksum that the
 * store accepts, and retries at once with the next one when the store refuses it. Calls `make` anew each time. Faults: those
 * of `make`, of `callStore` and of `read`; CHECKSUM_MISMATCH when the store has other bytes than ours.
 */
export async function callSummed<T>(
  engine: Engine,
  make: (checksum: StoreChecksum) => Call | Promise<Call>,
  read: (about: SummedAnswer) => T,
): Promise<T> {
  for (;;) {
    const { checksum } = engine.store;
    const call = await make(checksum);
    const { operation } = call;
    const sent = { op: operation.op, checksum, ...("crc32" in operation ? { crc32: operation.crc32 } : {}) };
    const seen: { verdict: ProbeVerdict } = { verdict: "keep" };
    try {
      return await callStore(engine, call, (answer, subject, request) => {
        seen.verdict = engine.store.judge(sent, answer, request.url);
        if (seen.verdict !== "wrong") return read({ answer, subject, checksum });
        throw new Fault("CHECKSUM_MISMATCH", { op: S3_NAMES[operation.op], subject, status: answer.status });
      });
    } catch (error) {
      if (seen.verdict !== "again") throw error;
      engine.signatures.forget(operation);
    }
  }
}
