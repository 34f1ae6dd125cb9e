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
import { createPins } from "../transfer/download/etag-guard.ts";
import type { Piece } from "../transfer/download/piece.ts";
import { operationOf } from "../transfer/store-session/sign-ahead.ts";
import { sumBytes } from "../base/sum-bytes.ts";
import { TryTwice } from "../transfer/concurrency/hedged-request.ts";

/**
 * A small object in one request, into memory: what makes thousands of them cheap. Who wants more (a try after a failure, a part
 * of it, a look at the disk) takes the way of all other objects.
 */
export interface Fetched {
  /** Until they are released. */
  bytes: Buffer;
  /** Hex. */
  crc32: string;
  /** What the store keeps of it; null where it did not tell. */
  kept: ObjectSum | null;
  /** The bytes are not needed any more; once. Who forgets that costs memory, and nothing else. */
  release(): void;
}

/** Whether an object can be fetched so: all of it is one piece, and small. */
export const isFetchable = (engine: Pick<Engine, "memoryBytes">, { length, sealed }: Piece): boolean =>
  isSmallFor(engine, length) && sealed === undefined;

type Get = Extract<Operation, { op: "get" }>;

interface Attempt {
  signal: AbortSignal;
  onMoved(bytes: number): void;
}

/**
 * `onMoved` is told of every byte; null when its turn came and it was not wanted any more.
 * Faults: those of the store, OBJECT_CHANGED, UNEXPECTED_ANSWER, TRUNCATED, CANCELLED.
 */
export function fetchSmall(
  engine: Engine,
  piece: Piece,
  about: Attempt & { isWanted?(): boolean },
): Promise<Fetched | null> {
  return engine.gate.run({ signal: about.signal, size: "small" }, () =>
    about.isWanted?.() === false ? NOT_WANTED : new Fetching(engine, piece, about).fetch(),
  );
}

const NOT_WANTED = Promise.resolve(null);

/** Of stores that refused to tell the sums of objects, and then gave the objects. */
const untold = new WeakSet<Engine>();

/** An object that is fetched, perhaps twice beside each other. */
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
      // Who waits for a limit is not late.
      mayRepeat: () => !engine.limiter.isHolding,
      mayShed: false,
      ask: (isHedge) => this.#ask(isHedge),
      onMoved: about.onMoved,
      onTooLate: ({ release }) => release(),
    });
  }

  /** Once. */
  async fetch(): Promise<Fetched> {
    const fetched = await this.#tries.run();
    this.#engine.signatures.forget(this.#operation);
    return fetched;
  }

  /**
   * Asked for as a whole it comes with the sum that the store keeps of it, and an MD5 of its bytes, which takes more time than all
   * the rest, need not be taken.
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
      // What passes (a signature that is over, a clock that was wrong) says nothing about the header.
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
    // A byte more: what comes after the object is noticed.
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
      // Its connection is gone or idle: nobody writes there any more.
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

interface Wished {
  piece: Piece;
  operation: Get;
  signal: AbortSignal;
  /** Longer than the piece. */
  into: Buffer;
}

class SmallSink implements Sink {
  readonly #engine: Engine;
  readonly #wished: Wished;
  readonly #onMoved: (bytes: number) => void;
  readonly #lane: Lane;
  received = 0;
  kept: ObjectSum | null = null;

  constructor(engine: Engine, wished: Wished, onMoved: (bytes: number) => void) {
    this.#engine = engine;
    this.#wished = wished;
    this.#onMoved = onMoved;
    this.#lane = engine.limiter.lane({ isOpen: true });
  }

  get into(): Buffer {
    return this.#wished.into;
  }

  head(answer: HttpAnswer): void {
    const { piece, operation } = this.#wished;
    const { key: subject, length, objectOffset: offset } = piece;
    if (operation.isSummed === true) {
      checkWhole(answer, { length, etag: piece.etag, isPinned: operation.etag !== null, subject });
      this.kept = readObjectSum(answer.headers[CHECKSUM_HEADER] ?? "");
    } else checkRange(answer, { offset, length, etag: operation.etag, subject });
    if (operation.etag === null && piece.crc32 === null) createPins().check(piece, answer.headers);
  }

  bytes(chunk: Buffer): Promise<void> | undefined {
    const { into, piece, signal } = this.#wished;
    if (this.received + chunk.length > piece.length) {
      const about = { op: "GetObject", subject: piece.key };
      throw new Fault("UNEXPECTED_ANSWER", { ...about, detail: "more bytes than were asked for" });
    }
    // Mostly they stand there already.
    if (chunk.buffer !== into.buffer) chunk.copy(into, this.received);
    this.received += chunk.length;
    this.#engine.meter.add(chunk.length);
    this.#onMoved(chunk.length);
    return pay(this.#lane, chunk.length, signal);
  }
}
