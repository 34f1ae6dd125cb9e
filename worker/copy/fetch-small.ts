import { Fault, isFault } from "#protocol/fault.ts";
import { checkRange, checkWhole } from "#storage/check-range.ts";
import { crc32Hex, readObjectSum, type ObjectSum } from "#storage/crc32.ts";
import { CHECKSUM_HEADER, NOT_FOR_ALL } from "#storage/signing.ts";
import type { Engine } from "../engine/engine.ts";
import { fetchRange, type WantedRange } from "../engine/fetch-range.ts";
import { isSmallFor, smallBuffersOf } from "../engine/lend-buffers.ts";
import { pay } from "../engine/limiter.ts";
import { createPins } from "../engine/pins.ts";
import type { Piece } from "../engine/receive.ts";
import { operationOf } from "../engine/sign-ahead.ts";

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

interface Attempt {
  signal: AbortSignal;
  onMoved(bytes: number): void;
}

/** From so few that wait, in places, the end is near: one whose last packet is lost would be all that is waited for. */
const NEAR_END = 2;

/**
 * `onMoved` is told of every byte; null when its turn came and it was not wanted any more.
 * Faults: those of the store, OBJECT_CHANGED, UNEXPECTED_ANSWER, TRUNCATED, CANCELLED.
 */
export function fetchSmall(
  engine: Engine,
  piece: Piece,
  about: Attempt & { isWanted?(): boolean },
): Promise<Fetched | null> {
  const { gate } = engine;
  return gate.run({ signal: about.signal, size: "small" }, async () => {
    if (about.isWanted?.() === false) return null;
    // Who waits for a limit is not late.
    const isNearEnd = gate.waiting <= NEAR_END * gate.width && !engine.limiter.isHolding;
    const fetched = await (isNearEnd ? fetchHedged : fetchOnce)(engine, piece, about);
    engine.signatures.forget(operationOf(engine, piece));
    return fetched;
  });
}

async function fetchHedged(engine: Engine, piece: Piece, about: Attempt): Promise<Fetched> {
  let told = 0;
  const tell = (bytes: number) => {
    told += bytes;
    about.onMoved(bytes);
  };
  const fetched = await engine.hedges.run({
    signal: about.signal,
    isSmall: true,
    mayShed: false,
    mayRepeat: () => true,
    // Those of about the same length are compared.
    lengthBytes: 2 ** Math.ceil(Math.log2(piece.length)),
    attempt: ({ signal, isHedge, onMoved }) =>
      fetchOnce(engine, piece, {
        signal,
        onMoved: (bytes) => {
          onMoved(bytes);
          if (!isHedge) tell(bytes);
        },
      }),
  });
  // Where the second try was first, or the first one began anew.
  if (told !== piece.length) tell(piece.length - told);
  return fetched;
}

/** Of stores that refused to tell the sums of objects, and then gave the objects. */
const untold = new WeakSet<Engine>();

/**
 * Asked for as a whole it comes with the sum that the store keeps of it, and an MD5 of its bytes, which takes more time than all
 * the rest, need not be taken.
 */
async function fetchOnce(engine: Engine, piece: Piece, about: Attempt): Promise<Fetched> {
  const { checksum } = engine.store;
  const operation = operationOf(engine, piece);
  if (checksum !== "crc32" || piece.crc32 !== null || untold.has(engine)) {
    return fetchBy(engine, piece, { ...about, operation });
  }
  try {
    return await fetchBy(engine, piece, { ...about, operation: { ...operation, isSummed: true } });
  } catch (error) {
    // What passes (a signature that is over, a clock that was wrong) says nothing about the header.
    if (!isFault(error) || error.retry !== "never" || !NOT_FOR_ALL.has(error.context.status ?? 0)) throw error;
    const fetched = await fetchBy(engine, piece, { ...about, operation });
    untold.add(engine);
    return fetched;
  }
}

async function fetchBy(
  engine: Engine,
  piece: Piece,
  about: Attempt & { operation: WantedRange["operation"] },
): Promise<Fetched> {
  const { signal, operation } = about;
  const { key, objectOffset: offset, length } = piece;
  const lane = engine.limiter.lane({ isOpen: true });
  const buffers = smallBuffersOf(engine);
  const whole = buffers.lend(length);
  const bytes = whole.subarray(0, length);
  let received = 0;
  let kept: ObjectSum | null = null;
  const sink: WantedRange["sink"] = {
    head: (answer) => {
      if (operation.isSummed === true) {
        checkWhole(answer, { length, etag: piece.etag, isPinned: operation.etag !== null, subject: key });
        kept = readObjectSum(answer.headers[CHECKSUM_HEADER] ?? "");
      } else checkRange(answer, { offset, length, etag: operation.etag, subject: key });
      if (operation.etag === null && piece.crc32 === null) createPins().check(piece, answer.headers);
    },
    bytes: (chunk) => {
      chunk.copy(bytes, received);
      received += chunk.length;
      engine.meter.add(chunk.length);
      about.onMoved(chunk.length);
      return pay(lane, chunk.length, signal);
    },
  };
  await fetchRange(engine, { operation, offset, length, signal, sink });
  if (received < length) throw new Fault("TRUNCATED", { op: "GetObject", subject: key });
  return { bytes, crc32: crc32Hex(bytes), kept, release: () => buffers.takeBack(whole) };
}
