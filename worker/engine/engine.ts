import { Fault, isFault } from "#protocol/fault.ts";
import type { Operation, SignedRequest, StoreTraits } from "#protocol/operations.ts";
import type { HttpAnswer } from "#storage/answers.ts";
import { S3_NAMES } from "#storage/signing.ts";
import type { RequestSource } from "#storage/signing.ts";
import { systemClock, type Clock } from "./clock.ts";
import { createGate, type Gate } from "./gate.ts";
import { createLimiter, type Limiter } from "./limiter.ts";
import { createMeter, type Meter } from "./meter.ts";
import { createRetrier, type Retrier } from "./retry.ts";
import { createSignatures, type Signatures } from "./signatures.ts";
import { createWire, type Exchange, type Sink, type UploadBody, type Wire } from "./wire.ts";

/**
 * What moves bytes in one direction: connections, the gate that bounds them, limiter, meter, signatures and the way to
 * retry. `send` and `receive` use it and cannot tell whether the signatures come from keys in the environment or from a hub.
 */
export interface Engine {
  wire: Wire;
  gate: Gate;
  limiter: Limiter;
  meter: Meter;
  signatures: Signatures;
  retrier: Retrier;
  traits: StoreTraits;
  connections: number;
}

export interface EngineOptions {
  source: RequestSource;
  traits: StoreTraits;
  connections: number;
  limitBytesPerSecond: number;
  /** Epoch ms by the signer's clock. */
  signerNow: () => number;
  clock?: Clock;
  /** Shared by the engines of one endpoint, so that they have one breaker. */
  retrier?: Retrier;
  idleMs?: number;
}

export function createEngine(options: EngineOptions): Engine {
  const clock = options.clock ?? systemClock;
  const { connections, traits, idleMs } = options;
  return {
    // Two more than parts may move at a time, so that a HEAD or a Complete never waits behind a part.
    wire: createWire({ connections: connections + 2, ...(idleMs === undefined ? {} : { idleMs }) }),
    gate: createGate(connections),
    limiter: createLimiter(clock, options.limitBytesPerSecond),
    meter: createMeter(clock.now),
    signatures: createSignatures(options.source, options.signerNow),
    retrier: options.retrier ?? createRetrier(clock),
    traits,
    connections,
  };
}

export interface Call {
  operation: Operation;
  signal: AbortSignal;
  body?: Buffer | UploadBody;
  headers?: Exchange["headers"];
  sink?: Sink;
}

/** These succeed once; their signatures are of no use afterwards and would only fill the memory. */
const ONCE: ReadonlySet<Operation["op"]> = new Set(["part", "put", "complete"]);

/** Signs and sends one operation once. Faults: of signing, of the network; the answer itself is not judged. */
export async function callStore<T>(
  engine: Engine,
  call: Call,
  read: (answer: HttpAnswer, subject: string) => T,
): Promise<T> {
  const { operation, signal, body, headers, sink } = call;
  const request = await engine.signatures.request(operation);
  const exchange: Exchange = {
    request,
    op: S3_NAMES[operation.op],
    subject: operation.key,
    signal,
    ...(body === undefined ? {} : { body }),
    ...(headers === undefined ? {} : { headers }),
  };
  const answer = sink === undefined ? await engine.wire.send(exchange) : await engine.wire.fetch({ ...exchange, sink });
  // Whatever it says, somebody answered.
  engine.retrier.breaker.up();
  try {
    const result = read(answer, operation.key);
    if (ONCE.has(operation.op)) engine.signatures.forget(operation);
    return result;
  } catch (error) {
    throw asExpired(error, { engine, operation, request });
  }
}

/** Stores say "access denied" for a presigned request that came too late; only its date tells the two apart. */
function asExpired(error: unknown, about: { engine: Engine; operation: Operation; request: SignedRequest }): unknown {
  const { engine, operation, request } = about;
  if (!isFault(error) || error.retry === "backoff") return error;
  const refused = error.code === "ACCESS_DENIED" || error.code === "SIGNATURE_EXPIRED";
  if (!refused) return error;
  engine.signatures.forget(operation);
  if (error.code === "SIGNATURE_EXPIRED" || !engine.signatures.isOver(request)) return error;
  return new Fault("SIGNATURE_EXPIRED", { ...error.context, cause: error });
}
