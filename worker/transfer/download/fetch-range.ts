import { Fault } from "#protocol/faults/fault.ts";
import type { Operation } from "#protocol/wire/operations.ts";
import { faultOfAnswer } from "#storage/answers/faults.ts";
import { callStore, type Engine } from "../engine.ts";
import type { Sink } from "../http/http-client.ts";

export interface WantedRange {
  /**
   * Operation to sign. The Range header is not signed, so one signature serves any range of the operation. With `isSummed`
   * only the whole object can be fetched.
   */
  operation: Extract<Operation, { op: "get" }>;
  /** Offset in the object. */
  offset: number;
  length: number;
  signal: AbortSignal;
  sink: {
    head: Sink["head"];
    /** Same as `Sink.bytes`. `leftBytes`: bytes of the range still to come after `chunk`. */
    bytes(chunk: Buffer, leftBytes: number): ReturnType<Sink["bytes"]>;
  };
}

/**
 * Requests a range of an object once. The sink must check the head of the answer and that all bytes came. Faults: of signing,
 * of the network, of the answer; UNEXPECTED_ANSWER when more comes than was asked for.
 */
export async function fetchRange(engine: Engine, wanted: WantedRange): Promise<void> {
  const { operation, offset, length, signal, sink } = wanted;
  const about = { op: "GetObject", subject: operation.key };
  let leftBytes = length;
  const counted: Sink = {
    head: sink.head,
    bytes: (chunk) => {
      if (chunk.length > leftBytes) {
        throw new Fault("UNEXPECTED_ANSWER", { ...about, detail: "more bytes than were asked for" });
      }
      leftBytes -= chunk.length;
      return sink.bytes(chunk, leftBytes);
    },
  };
  const range = operation.isSummed === true ? {} : { headers: { range: `bytes=${offset}-${offset + length - 1}` } };
  await callStore(engine, { operation, signal, ...range, sink: counted }, (answer) => {
    if (answer.status < 200 || answer.status > 299) throw faultOfAnswer({ ...about, answer });
  });
}
