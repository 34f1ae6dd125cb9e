import { Fault } from "#protocol/fault.ts";
import { checkRange } from "#storage/check-range.ts";
import { crc32Hex } from "#storage/crc32.ts";
import { faultOfAnswer } from "#storage/faults.ts";
import { callStore, type Engine } from "../engine/engine.ts";
import { createPins } from "../engine/pins.ts";
import type { Piece } from "../engine/receive.ts";
import { operationOf } from "../engine/sign-ahead.ts";

/**
 * A small object in one request, into memory, once: what makes thousands of them cheap. Who wants more (a second try, a
 * part of it, a look at the disk) takes the way of all other objects.
 */
export interface Fetched {
  bytes: Buffer;
  /** Hex. */
  crc32: string;
}

const MOST_BYTES = 128 * 1024;
/** So many of the largest fit into the memory for buffers; an eighth of them may be on their way. */
const FIT_INTO_MEMORY = 1024;

/** Whether an object can be fetched so: all of it is one piece, and small. */
export const isFetchable = ({ memoryBytes }: Pick<Engine, "memoryBytes">, { length, sealed }: Piece): boolean =>
  length > 0 && length <= Math.min(MOST_BYTES, memoryBytes / FIT_INTO_MEMORY) && sealed === undefined;

/**
 * `onMoved` is told of every byte; null when its turn came and it was not wanted any more.
 * Faults: those of the store, OBJECT_CHANGED, UNEXPECTED_ANSWER, TRUNCATED, CANCELLED.
 */
export function fetchSmall(
  engine: Engine,
  piece: Piece,
  about: { signal: AbortSignal; onMoved(bytes: number): void; isWanted?(): boolean },
): Promise<Fetched | null> {
  const { signal } = about;
  return engine.gate.run({ signal, size: "small" }, async () => {
    if (about.isWanted?.() === false) return null;
    const { key, objectOffset: offset, length } = piece;
    const operation = operationOf(engine, piece);
    const lane = engine.limiter.lane({ isOpen: true });
    const bytes = Buffer.allocUnsafeSlow(length);
    let received = 0;
    const sink = {
      head: (answer: Parameters<typeof checkRange>[0]) => {
        checkRange(answer, { offset, length, etag: operation.etag, subject: key });
        if (operation.etag === null && piece.crc32 === null) createPins().check(piece, answer.headers);
      },
      bytes: (chunk: Buffer) => {
        if (chunk.length > length - received) {
          throw new Fault("UNEXPECTED_ANSWER", {
            op: "GetObject",
            subject: key,
            detail: "more bytes than were asked for",
          });
        }
        chunk.copy(bytes, received);
        received += chunk.length;
        engine.meter.add(chunk.length);
        about.onMoved(chunk.length);
        const unpaid = chunk.length - lane.tryTake(chunk.length);
        return unpaid === 0 ? undefined : lane.take(unpaid, signal);
      },
    };
    const headers = { range: `bytes=${offset}-${offset + length - 1}` };
    await callStore(engine, { operation, signal, headers, sink }, (answer) => {
      if (answer.status < 200 || answer.status > 299) throw faultOfAnswer({ op: "GetObject", subject: key, answer });
    });
    if (received < length) throw new Fault("TRUNCATED", { op: "GetObject", subject: key });
    engine.signatures.forget(operation);
    return { bytes, crc32: crc32Hex(bytes) };
  });
}
