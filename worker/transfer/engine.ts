/**
 * Where a transfer is tuned (files of `concurrency/` unless a folder is named):
 * - Width of the semaphore: `concurrency-controller` samples, `concurrency-search` searches, `queue-delay-guard` limits.
 * - Last parts of an upload: `tail-pacer` with `rate-allocation` (pure), `review-paces` and `grant-bytes`.
 * - Late parts: `hedge` decides, `late-flights` finds them, `attempt-flight` runs both attempts, `latency-estimator` compares.
 * - Doubt about the link: `stall-history` (silent connections), `spare-capacity` (room for bytes that may be wasted).
 * - Downloads: `download/range-scheduler`, `download/slowest-span`, `download/speculative-ranges`, `idle-connection-scheduler`.
 * - Bandwidth limit: `limiter`. Periodic checks: `base/timer-coalescer`.
 * - Bodies: `http/sending` from a file, `http/sending-held` from memory, `http/tls/encrypt-directly` over TLS,
 *   `base/system-calls` for `sendfile`, `upload/send-small` for a small file, `upload/send-stream` for stdin.
 */
import { Fault, isFault } from "#protocol/faults/fault.ts";
import type { FaultCode } from "#protocol/faults/fault-table.ts";
import type { ChecksumMemory } from "#protocol/wire/store-checksum.ts";
import type { Operation, SignedRequest, StoreTraits } from "#protocol/wire/operations.ts";
import type { HttpAnswer } from "#storage/s3/answers.ts";
import type { StoreTrust } from "#protocol/wire/store-trust.ts";
import { S3_NAMES, type RequestSource } from "#storage/signing/signing.ts";
import { createTimerCoalescer, type TimerCoalescer } from "../base/timer-coalescer.ts";
import { systemClock, type Clock } from "../base/clock.ts";
import { createTailPacer, type TailPacer } from "./concurrency/tail-pacer.ts";
import { createSemaphore, type Semaphore, type Wants } from "./concurrency/semaphore.ts";
import { createHedges, type Hedges } from "./concurrency/hedge.ts";
import { createConcurrencyController, type ConcurrencyController } from "./concurrency/concurrency-controller.ts";
import { createSerialQueue, type SerialQueue } from "./upload/serial-queue.ts";
import { createKnownStore, type KnownStore, type LearningSource } from "./store-session/known-store.ts";
import { createSpareCapacity, type SpareCapacity } from "./concurrency/spare-capacity.ts";
import { createLimiter, type Limiter } from "./concurrency/limiter.ts";
import { createMeter, type Meter } from "./progress/meter.ts";
import { createRetrier, type Retrier } from "./store-session/retry.ts";
import { createStallHistory, type StallHistory } from "./concurrency/stall-history.ts";
import { createSignatures, type Signatures } from "./store-session/signatures.ts";
import type { Resolving } from "./http/socket/resolve-addresses.ts";
import { createHttpClient, type Exchange, type Sink, type HttpClient } from "./http/http-client.ts";

/**
 * Everything that moves bytes in one direction: connections, the semaphore that bounds them, the controller that sets its
 * width, limiter, meter, signatures and retries. `send` and `receive` work the same whether signatures come from keys in the
 * environment or from a hub.
 */
export interface Engine {
  coalescer: TimerCoalescer;
  httpClient: HttpClient;
  semaphore: Semaphore;
  controller: ConcurrencyController;
  hedges: Hedges;
  /** Tells whether the link has room for bytes that may be wasted. */
  room: SpareCapacity;
  tailPacer: TailPacer;
  /** Queue for the checksums of whole parts. */
  turns: SerialQueue;
  limiter: Limiter;
  meter: Meter;
  /** Stalls of downloads. */
  stallHistory: StallHistory;
  signatures: Signatures;
  store: KnownStore;
  retrier: Retrier;
  traits: StoreTraits;
  /** Most memory for buffers of this direction. */
  memoryBytes: number;
  /** Epoch ms by this machine's clock. */
  wallNow(): number;
  close(): Promise<void>;
}

export interface EngineOptions {
  /** Signs requests. May observe every answer, to learn from it how to sign. */
  source: RequestSource & LearningSource;
  traits: StoreTraits;
  /** Requirements on the store's certificate beyond the default. */
  trust?: StoreTrust | undefined;
  /** Resolves host names in place of the system. */
  resolver?: Resolving;
  /** Returns the addresses that a host name had in an earlier run. */
  rememberedOf?: (host: string) => readonly string[];
  /** Checksum that this store accepted the last time. */
  keptChecksum?: ChecksumMemory | null;
  /** Direction of the bytes. Default: "down". */
  direction?: "up" | "down";
  /** Number of parts in parallel; null: found by the concurrency search. */
  connections: number | null;
  /** Width at which the concurrency search starts: the best one of the last transfer. */
  firstConnections?: number;
  /** Most memory for buffers of this direction. */
  memoryBytes?: number;
  limitBytesPerSecond: number;
  /** Epoch ms by the signer's clock. */
  signerNow: () => number;
  clock?: Clock;
  /** Epoch ms by this machine's clock. */
  wallNow?: () => number;
  /** Shared by the engines of one endpoint, so that they share one circuit breaker. */
  retrier?: Retrier;
  idleMs?: number;
}

const DEFAULT_MEMORY_BYTES = 128 * 1024 * 1024;
const BUFFER_BYTES = 1024 * 1024;
const LEAST_BUFFER_BYTES = 64 * 1024;
/** Memory that a connection takes besides its buffer, most of it for TLS. */
const CONNECTION_BYTES = 512 * 1024;
/** Connections beyond the parts in parallel, so that a small file, a HEAD or a Complete never waits behind a part. */
const SPARE_CONNECTIONS = 4;

/**
 * Width at which the ramp of the concurrency search ends. Up, every part gets its own connection once the link is known to be
 * long, because the last part cannot be shared. Down it can be, and each further connection costs CPU.
 */
const RAMP_CONNECTIONS = { up: 64, down: 24 } as const;
/**
 * The same for small files: each mostly waits for a round trip, so many are in flight. Up, more than these overflow the queue
 * of a home router with their first packets. A file whose last packet is lost there takes a second longer (2,000 files of 64
 * KiB over 150 Mbit/s at 120 ms: 7.9 s with 64, 8.9 s with 96). Where no queue stands, the search adds more. Down, the
 * store's side has room for them.
 */
const SMALL_RAMP_CONNECTIONS = { up: 64, down: 96 } as const;

export function createEngine(options: EngineOptions): Engine {
  const clock = options.clock ?? systemClock;
  const { traits, idleMs, direction = "down" } = options;
  const memoryBytes = options.memoryBytes ?? DEFAULT_MEMORY_BYTES;
  // Memory that is too small for large buffers may suffice for small ones; otherwise there are fewer connections.
  const fits = Math.max(1, Math.floor(memoryBytes / (LEAST_BUFFER_BYTES + CONNECTION_BYTES)) - SPARE_CONNECTIONS);
  const most = Math.min(options.connections ?? traits.mostConnections, fits);
  const wanted = Math.floor(memoryBytes / (most + SPARE_CONNECTIONS));
  const bufferBytes = Math.max(LEAST_BUFFER_BYTES, Math.min(BUFFER_BYTES, wanted - (wanted % 4096)));
  const first = Math.min(most, options.connections ?? options.firstConnections ?? traits.startConnections);
  const coalescer = createTimerCoalescer();
  const httpClient = createHttpClient({
    coalescer,
    connections: first + SPARE_CONNECTIONS,
    bufferBytes,
    restMs: traits.keepAliveMs,
    onRoundTrip: () => controller.roundTrip(),
    sendsFiles: direction === "up",
    trust: options.trust,
    ...(options.rememberedOf === undefined ? {} : { rememberedOf: options.rememberedOf }),
    ...(options.resolver === undefined ? {} : { naming: { resolver: options.resolver } }),
    ...(idleMs === undefined ? {} : { idleMs }),
  });
  const meter = createMeter(clock.now);
  const semaphore = createSemaphore(first);
  const limiter = createLimiter(clock, options.limitBytesPerSecond);
  // Under a limit parts are sent one after the other instead, so that a kill or a pause loses little.
  const tailPacer = createTailPacer({
    clock,
    httpClient,
    isLast: () => semaphore.isEnding && limiter.bytesPerSecond === 0,
  });
  const room = createSpareCapacity({ clock, httpClient, isDriven: () => tailPacer.isDriving });
  const hedges = createHedges({ clock, coalescer, semaphore, meter, room });
  const controller = createConcurrencyController({
    clock,
    coalescer,
    semaphore,
    meter,
    httpClient,
    limits: { first, ramp: RAMP_CONNECTIONS[direction], smallRamp: SMALL_RAMP_CONNECTIONS[direction], most },
    isHeld: () => limiter.isHolding,
    partBytes: hedges.lengthBytes,
    onWidth: (width) => httpClient.setConnections(width + SPARE_CONNECTIONS),
    onTooMany: hedges.shed,
  });
  semaphore.onEntered(controller.wake);
  return {
    coalescer,
    httpClient,
    semaphore,
    controller,
    hedges,
    room,
    tailPacer,
    turns: createSerialQueue(),
    limiter,
    meter,
    stallHistory: createStallHistory(clock.now),
    signatures: createSignatures(options.source, options.signerNow),
    store: createKnownStore({ source: options.source, traits, kept: options.keptChecksum ?? null }),
    retrier: options.retrier ?? createRetrier(clock),
    traits,
    memoryBytes,
    wallNow: options.wallNow ?? Date.now,
    close: async () => {
      controller.stop();
      await httpClient.close();
    },
  };
}

export interface Call {
  operation: Operation;
  signal: AbortSignal;
  body?: Exchange["body"];
  headers?: Record<string, string>;
  sink?: Sink;
  /** Same as in `Exchange`. */
  onAgain?: () => void;
  onBegun?: Exchange["onBegun"];
}

/** Operations that succeed only once: their signatures are useless afterwards and would only take memory. */
const ONCE: ReadonlySet<Operation["op"]> = new Set(["part", "put", "complete"]);

/** Signs and sends one operation once; `read` judges the answer. Faults: of signing, of the network, of `read`. */
export async function callStore<T>(
  engine: Engine,
  call: Call,
  read: (answer: HttpAnswer, subject: string, request: SignedRequest) => T,
): Promise<T> {
  const { operation, signal, body, headers, sink, onAgain, onBegun } = call;
  const { signedFor } = engine.store;
  const request = engine.signatures.now(operation) ?? (await engine.signatures.request(operation));
  const [op, subject] = [S3_NAMES[operation.op], operation.key];
  const exchange = { signedFor, request, op, subject, signal, body, headers, sink, onAgain, onBegun };
  const answer = await ask(engine, exchange);
  try {
    const result = read(answer, operation.key, request);
    if (ONCE.has(operation.op)) engine.signatures.forget(operation);
    return result;
  } catch (error) {
    if (isFault(error) && error.code === "THROTTLED") engine.controller.throttled();
    throw asExpired(error, { engine, operation, request });
  }
}

/**
 * Sends a signed request and lets the known store learn from the answer. `signedFor`: value of `store.signedFor` before the
 * request was signed. Faults: of the network; SIGNATURE_EXPIRED, whatever the refusal says, when the clock, region or key
 * meanwhile proved wrong. That may happen only once for each of them.
 */
export async function ask(
  engine: Engine,
  exchange: Exchange & { sink?: Sink | undefined; signedFor: number },
): Promise<HttpAnswer> {
  const { sink, signedFor } = exchange;
  const sentAtMs = engine.wallNow();
  const answer = await (sink === undefined
    ? engine.httpClient.send(exchange)
    : engine.httpClient.fetch({ ...exchange, sink }));
  if (engine.store.observe({ answer, sentAtMs, receivedAtMs: engine.wallNow() }) === "sign again") {
    engine.signatures.forgetAll();
  }
  if (answer.status >= 300 && signedFor !== engine.store.signedFor) {
    const { op, subject } = exchange;
    const detail = "it was signed by a wrong clock, for another region, or with a key that has ended";
    throw new Fault("SIGNATURE_EXPIRED", { op, subject, status: answer.status, detail });
  }
  return answer;
}

/**
 * Opens connections for `count` requests while the first call of a transfer is in flight: as many as the present width, and
 * more once the link is known to be long. `operation` only tells the address. Faults: of signing.
 */
export async function warmUp(
  engine: Engine,
  operation: Operation,
  next: { count: number; size: Wants["size"] },
): Promise<void> {
  const request = await engine.signatures.request(operation);
  engine.controller.expect(next, (width) => engine.httpClient.warm(request.url, Math.min(next.count, width)));
}

/** Refusals that a new signature may cure. */
const REFUSALS: ReadonlySet<FaultCode> = new Set(["ACCESS_DENIED", "SIGNATURE_EXPIRED", "CREDENTIALS_EXPIRED"]);

/**
 * Returns SIGNATURE_EXPIRED for refusals of an outdated request. Stores answer "access denied" to a presigned request that
 * came too late; only its date tells the two apart.
 */
function asExpired(error: unknown, about: { engine: Engine; operation: Operation; request: SignedRequest }): unknown {
  const { engine, operation, request } = about;
  if (isFault(error) && error.code === "CLOCK_SKEW") {
    engine.signatures.forget(operation);
    return doubtSkew(engine, error);
  }
  if (!isFault(error) || !REFUSALS.has(error.code)) return error;
  engine.signatures.forget(operation);
  if (error.code !== "ACCESS_DENIED" || !engine.signatures.isOver(request)) return error;
  return new Fault("SIGNATURE_EXPIRED", { ...error.context, cause: error });
}

/**
 * Returns SIGNATURE_EXPIRED, which is retried, or `fault` when the clock really is wrong. Every answer corrects the clock, so
 * a request refused for its time is tried again. If all are refused, no answer gave the right time.
 */
export const doubtSkew = (engine: Engine, fault: Fault): Fault =>
  engine.store.doubtsSkew() ? new Fault("SIGNATURE_EXPIRED", { ...fault.context, cause: fault }) : fault;
