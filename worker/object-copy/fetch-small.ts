import { Fault, isFault } from "#protocol/faults/fault.ts";
import type { Operation } from "#protocol/wire/operations.ts";
import type { HttpAnswer } from "#storage/s3/answers.ts";
import { checkRange, checkWhole } from "#storage/answers/check-range.ts";
import { sumToHex } from "#storage/checksums/combine-crc32.ts";
import { readObjectSum, type ObjectSum } from "#storage/checksums/crc32.ts";
import { faultOfAnswer } from "#storage/answers/faults.ts";
import { CHECKSUM_HEADER, NOT_FOR_ALL } from "#storage/signing/signing.ts";
import { callStore, type Call, type Engine } from "../transfer/engine.ts";
import type { Sink } from "../transfer/http/http-client.ts";
import { isSmallFor, smallBuffersOf } from "../transfer/memory/small-buffer-pool.ts";
import { pay, type Lane } from "../transfer/concurrency/limiter.ts";
import { createEtagGuard } from "../transfer/download/etag-guard.ts";
import type { Piece } from "../transfer/download/piece.ts";
import { operationOf } from "../transfer/store-session/sign-ahead.ts";
import { sumBytes } from "../base/sum-bytes.ts";
import { TryTwice } from "../transfer/concurrency/hedged-request.ts";

/**
 * A small object, fetched into memory by one request, which makes thousands of them cheap. Retries, ranges and resuming are
 * left to the general download.
 */
export interface Fetched {
  /** Valid until `release`. */
  bytes: Buffer;
  /** Hex. */
  crc32: string;
  /** Checksum that the store has of the object; null where the answer had none. */
  kept: ObjectSum | null;
  /** Returns the buffer to the pool; called once. A missing call only costs memory. */
  release(): void;
}

/** Tells whether a piece is small enough to be fetched this way, and not encrypted. */
export const isFetchable = (engine: Pick<Engine, "memoryBytes">, { length, sealed }: Piece): boolean =>
  isSmallFor(engine, length) && sealed === undefined;

type Get = Extract<Operation, { op: "get" }>;

interface Attempt {
  signal: AbortSignal;
  onMoved(bytes: number): void;
}

/**
 * Fetches a small object; resolves to null when it is not wanted any more once the semaphore admits it. `onMoved` gets
 * every byte. @throws Faults of the store, OBJECT_CHANGED, UNEXPECTED_ANSWER, TRUNCATED, CANCELLED
 */
export function fetchSmall(
  engine: Engine,
  piece: Piece,
  about: Attempt & { isWanted?(): boolean },
): Promise<Fetched | null> {
  return engine.semaphore.run({ signal: about.signal, size: "small" }, () =>
    about.isWanted?.() === false ? NOT_WANTED : new Fetching(engine, piece, about).fetch(),
  );
}

const NOT_WANTED = Promise.resolve(null);

/** Engines whose store refused a GET that asks for the checksum, but answered the same GET without it. */
const untold = new WeakSet<Engine>();

/** One fetch of an object, which may make a hedged second request. */
class Fetching {
  readonly #engine: Engine;
  readonly #piece: Piece;
  readonly #about: Attempt;
  readonly #operation: Get;
  readonly #tries: TryTwice<Fetched>;

  constructor(engine: Engine, piece: Piece, about: Attempt) {
    this.#engine = engine;
    this.#piece = piece;
    this.#about = about;
    this.#operation = operationOf(engine, piece);
    this.#tries = new TryTwice(engine, {
      signal: about.signal,
      lengthBytes: piece.length,
      alikeBytes: 2 ** Math.ceil(Math.log2(piece.length)),
      // While the bandwidth limiter holds back the transfer, a slow request needs no hedge.
      mayRepeat: () => !engine.limiter.isHolding,
      mayShed: false,
      ask: (isHedge) => this.#ask(isHedge),
      onMoved: about.onMoved,
      onTooLate: ({ release }) => release(),
    });
  }

  /** Fetches the object; called once. */
  async fetch(): Promise<Fetched> {
    const fetched = await this.#tries.run();
    this.#engine.signatures.forget(this.#operation);
    return fetched;
  }

  /**
   * Asks for the whole object, not a range, because only then does the store send its checksum. This saves computing an MD5,
   * which would take more time than everything else.
   */
  async #ask(isHedge: boolean): Promise<Fetched> {
    const operation = this.#operation;
    const { store } = this.#engine;
    if (store.checksum !== "crc32" || this.#piece.crc32 !== null || untold.has(this.#engine)) {
      return this.#askOnce(operation, isHedge);
    }
    try {
      return await this.#askOnce({ ...operation, isSummed: true }, isHedge);
    } catch (error) {
      // A temporary failure (an expired signature, a wrong clock) says nothing about the checksum header.
      if (!isFault(error) || error.retry !== "never" || !NOT_FOR_ALL.has(error.context.status ?? 0)) throw error;
      const fetched = await this.#askOnce(operation, isHedge);
      untold.add(this.#engine);
      return fetched;
    }
  }

  async #askOnce(operation: Get, isHedge: boolean): Promise<Fetched> {
    const engine = this.#engine;
    const { key, objectOffset: offset, length } = this.#piece;
    const { signal } = this.#about;
    const buffers = smallBuffersOf(engine);
    // One byte more than the object, so that surplus bytes are noticed.
    const whole = buffers.lend(length + 1);
    const sink = new SmallSink(engine, { piece: this.#piece, operation, signal, into: whole }, (bytes) => {
      this.#tries.moved(bytes, isHedge);
    });
    const call: Call = {
      operation,
      signal,
      sink,
      ...(operation.isSummed !== true && { headers: { range: `bytes=${offset}-${offset + length - 1}` } }),
      onBegun: (end) => this.#tries.begun(end),
    };
    try {
      await callStore(engine, call, assertSuccess);
      if (sink.received < length) throw new Fault("TRUNCATED", { op: "GetObject", subject: key });
    } catch (error) {
      // The connection is closed or idle, so nothing writes to the buffer any more.
      buffers.takeBack(whole);
      throw error;
    }
    const bytes = whole.subarray(0, length);
    return { bytes, crc32: sumToHex(sumBytes(bytes)), kept: sink.kept, release: () => buffers.takeBack(whole) };
  }
}

function assertSuccess(answer: HttpAnswer, subject: string): void {
  if (answer.status < 200 || answer.status > 299) throw faultOfAnswer({ op: "GetObject", subject, answer });
}

interface SmallRequest {
  piece: Piece;
  operation: Get;
  signal: AbortSignal;
  /** Buffer that is longer than the piece. */
  into: Buffer;
}

class SmallSink implements Sink {
  readonly #engine: Engine;
  readonly #requested: SmallRequest;
  readonly #onMoved: (bytes: number) => void;
  readonly #lane: Lane;
  received = 0;
  kept: ObjectSum | null = null;

  constructor(engine: Engine, requested: SmallRequest, onMoved: (bytes: number) => void) {
    this.#engine = engine;
    this.#requested = requested;
    this.#onMoved = onMoved;
    this.#lane = engine.limiter.lane({ isOpen: true });
  }

  get into(): Buffer {
    return this.#requested.into;
  }

  head(answer: HttpAnswer): void {
    const { piece, operation } = this.#requested;
    const { key: subject, length, objectOffset: offset } = piece;
    if (operation.isSummed === true) {
      checkWhole(answer, { length, etag: piece.etag, isPinned: operation.etag !== null, subject });
      this.kept = readObjectSum(answer.headers[CHECKSUM_HEADER] ?? "");
    } else checkRange(answer, { offset, length, etag: operation.etag, subject });
    if (operation.etag === null && piece.crc32 === null) createEtagGuard().check(piece, answer.headers);
  }

  bytes(chunk: Buffer): Promise<void> | undefined {
    const { into, piece, signal } = this.#requested;
    if (this.received + chunk.length > piece.length) {
      const about = { op: "GetObject", subject: piece.key };
      throw new Fault("UNEXPECTED_ANSWER", { ...about, detail: "more bytes than were asked for" });
    }
    // The socket usually reads directly into `into`, so there is nothing to copy.
    if (chunk.buffer !== into.buffer) chunk.copy(into, this.received);
    this.received += chunk.length;
    this.#engine.meter.add(chunk.length);
    this.#onMoved(chunk.length);
    return pay(this.#lane, chunk.length, signal);
  }
}
