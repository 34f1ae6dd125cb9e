import { StringDecoder } from "node:string_decoder";
import { MOST_LOG_PART_BYTES, type LogPiece } from "#protocol/jobs/job-log.ts";
import { MOST_LIVE_LOG_BYTES } from "#protocol/wire/reports.ts";
import type { Clock } from "../../base/clock.ts";
import { createWakeableSleep } from "../../base/wakeable-sleep.ts";

/** A part of the output, as it goes into the bucket. */
export interface LogPart {
  fromByte: number;
  text: Buffer;
  /** Bytes of output so far. */
  totalBytes: number;
}

/**
 * Keeps the output of one attempt: in memory the end of it, for people who read it now, and in the bucket its beginning and its
 * end in parts. The memory is bounded whatever the program prints: when it prints faster than parts can be stored, or more than
 * its policy keeps, the oldest text that is not stored is left out.
 */
export interface LogUploader {
  /** Takes output of the program, after its secrets were replaced. */
  add(chunk: Buffer): void;
  /** Returns output behind a byte, for a report; null when there is none. */
  textFrom(fromByte: number): LogPiece | null;
  /** Stores parts until `end`. */
  run(): Promise<void>;
  /** Stores what is left, and ends `run`. A store that does not answer within `patienceMs` loses the rest. */
  end(patienceMs: number): Promise<void>;
}

export interface LogUploaderParts {
  /** Returns the bytes that are kept: the first half and the last half. 0: none, or not known yet whether any. */
  mostBytes(): number;
  clock: Clock;
  /** Stores a part, and resolves when it is in the bucket and the hub knows it. */
  store(part: LogPart, signal: AbortSignal): Promise<void>;
  onTrouble(error: unknown): void;
}

/** Most text in memory: two parts. */
const MOST_HELD_BYTES = 2 * MOST_LOG_PART_BYTES;
/** Wait before the first part, and between later ones. A part that is full goes at once while the first half is not full. */
const FIRST_MS = 2_000;
export const PART_EVERY_MS = 20_000;
/** Rounds at the end: the memory holds two parts, and one may be in flight. */
const LAST_ROUNDS = 3;

export function createLogUploader({ mostBytes, clock, store, onTrouble }: LogUploaderParts): LogUploader {
  const decoder = new StringDecoder("utf8");
  const ending = new AbortController();
  const sleep = createWakeableSleep(clock, ending.signal);
  const giveUp = new AbortController();
  /** Text of whole characters, oldest first; `start` is the byte at which it begins. */
  let held: Buffer[] = [];
  let heldBytes = 0;
  let start = 0;
  /** End of the last stored part. */
  let storedTo = 0;
  const total = () => start + heldBytes;

  /** Lets go of the text before a byte. */
  const letGo = (before: number) => {
    for (let first = held[0]; first !== undefined && start < before; first = held[0]) {
      const gone = Math.min(first.length, before - start);
      if (gone === first.length) held.shift();
      else held[0] = first.subarray(gone);
      start += gone;
      heldBytes -= gone;
    }
  };
  const storeNext = async () => {
    const fromByte = start;
    const text = wholeCharacters(Buffer.concat(held), MOST_LOG_PART_BYTES);
    const isFull = text.length < heldBytes;
    await store({ fromByte, text, totalBytes: total() }, giveUp.signal);
    storedTo = fromByte + text.length;
    // A part that is not full is stored again, longer.
    if (isFull) letGo(storedTo);
  };
  const isBehind = () => mostBytes() > 0 && total() > storedTo;
  let running: Promise<void> = Promise.resolve();
  const keepStoring = async () => {
    for (let waitMs = FIRST_MS; !ending.signal.aborted; waitMs = PART_EVERY_MS) {
      await sleep.wait(waitMs);
      if (ending.signal.aborted) return;
      if (isBehind()) await storeNext().catch(onTrouble);
    }
  };
  return {
    add: (chunk) => {
      const text = Buffer.from(decoder.write(chunk));
      if (text.length === 0) return;
      held.push(text);
      heldBytes += text.length;
      while (heldBytes - (held[0]?.length ?? 0) >= MOST_HELD_BYTES) letGo(start + (held[0]?.length ?? 0));
      const isFull = total() - Math.max(start, storedTo) >= MOST_LOG_PART_BYTES;
      if (isFull && total() <= mostBytes() / 2) sleep.wake();
    },
    textFrom: (fromByte) => {
      const all = Buffer.concat(held);
      const from = Math.max(0, fromByte - start, all.length - MOST_LIVE_LOG_BYTES);
      const at = startOfCharacter(all, from);
      return at >= all.length ? null : { fromByte: start + at, text: all.toString("utf8", at) };
    },
    run: () => (running = keepStoring()),
    end: async (patienceMs) => {
      ending.abort();
      const late = clock.sleep(patienceMs, giveUp.signal).then(
        () => giveUp.abort(),
        () => undefined,
      );
      await Promise.race([running, late]);
      try {
        for (let round = 0; round < LAST_ROUNDS && isBehind() && !giveUp.signal.aborted; round++)
          await Promise.race([storeNext(), late]);
      } catch (error) {
        onTrouble(error);
      } finally {
        giveUp.abort();
      }
    },
  };
}

/** Returns whether a byte 10xxxxxx continues a character. */
const continues = (byte: number | undefined): boolean => byte !== undefined && (byte & 0xc0) === 0x80;

function startOfCharacter(text: Buffer, from: number): number {
  let at = from;
  while (continues(text[at])) at++;
  return at;
}

/** Returns the beginning of a text with at most this many bytes, without a part of a character at its end. */
function wholeCharacters(text: Buffer, most: number): Buffer {
  if (text.length <= most) return text;
  let end = most;
  while (end > 0 && continues(text[end])) end--;
  return text.subarray(0, end);
}
