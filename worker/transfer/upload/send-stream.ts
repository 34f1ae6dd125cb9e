import { randomBytes } from "node:crypto";
import { Fault, isFault } from "#protocol/faults/fault.ts";
import { abandonInTime } from "./abandon-in-time.ts";
import { throwIfAborted } from "#worker/base/clock.ts";
import { diskFault } from "#worker/base/disk-fault.ts";
import { warmUp, type Engine } from "../engine.ts";
import { fillParts, type FilledPart } from "./fill-parts.ts";
import { heldSource } from "./held-source.ts";
import { lendMemory } from "../memory/buffer-pool.ts";
import type { Input } from "#worker/command-line/read-input.ts";
import { createPatience, type Patience } from "../store-session/retry.ts";
import { sendEmpty } from "./send-empty.ts";
import type { LostCreate, SendRequests } from "./send-job.ts";
import { rememberHere } from "./send-memory.ts";
import { sendPart } from "./send-part.ts";
import { beginUpload, completeUpload, NOTHING_AHEAD, sendWhole, sweepLost } from "./send.ts";

/** An input of unknown length that can be read once only. */
export interface StreamToSend {
  /** Named in faults. */
  subject: string;
  key: string;
  /** Destroyed when no more of it is needed. */
  input: Input;
  partBytes: number;
  /** Number of parts held in memory until the store has them; one more is being filled. */
  partsAtATime: number;
  /** Called with the length of each chunk read; an error that it throws ends the upload. */
  onRead(bytes: number): void;
  /** Same as in `SendJob`. */
  onMoved(bytes: number): void;
  sweep(lost: LostCreate): Promise<void>;
  signal: AbortSignal;
}

/**
 * Longest wait for a Create in flight when the upload ends: without its id the upload cannot be ended at the store. The wait
 * is short when a person or a supervisor asked to stop.
 */
const BEGIN_MS = { stopped: 2_000, failed: 60_000 };

/**
 * Sends a stream to one object. Works as for a file but for two things: its parts are held in reused buffers, and it cannot
 * be resumed after a kill. An upload that fails is ended at the store. Returns the size of the object in bytes. Faults:
 * READ_FAILED, those of `onRead`, of the store, CANCELLED.
 */
export async function sendStream(engine: Engine, stream: StreamToSend): Promise<number> {
  const patience = createPatience(engine.retrier.clock);
  const [ending, lasting] = [new AbortController(), new AbortController()];
  const signal = AbortSignal.any([stream.signal, ending.signal]);
  const held = new Map<number, FilledPart>();
  const job = jobOf(stream, { patience, signal, held });
  const source = heldSource(stream.subject, ({ partNumber }) => held.get(partNumber)?.bytes);
  const { lend, takeBack } = lendMemory({ count: stream.partsAtATime + 1, sizeBytes: stream.partBytes, signal });
  const { parts } = job.plan;
  const faults: unknown[] = [];
  const fail = (error: unknown) => {
    faults.push(error);
    ending.abort(new Fault("CANCELLED"));
  };
  let begun: Promise<void> | null = null;
  const begin = async () => {
    await warmUp(engine, { op: "head", key: job.key }, { count: stream.partsAtATime, size: "large" });
    await beginUpload(engine, { ...job, watch: { ...job.watch, signal: lasting.signal } });
  };
  const send = async ({ part, lent }: FilledPart) => {
    await (begun ??= begin());
    await (
      await sendPart(engine, job, { part, source, ahead: NOTHING_AHEAD })
    ).remembered;
    held.delete(part.partNumber);
    takeBack(lent);
  };
  const underWay = new Set<Promise<void>>();
  const allCame = engine.semaphore.expectMore();
  const stopBegin = (afterMs: number) => void setTimeout(() => lasting.abort(new Fault("CANCELLED")), afterMs).unref();
  const stop = () => {
    stream.input.destroy();
    stopBegin(BEGIN_MS.failed);
  };
  const leave = () => stopBegin(BEGIN_MS.stopped);
  signal.addEventListener("abort", stop, { once: true });
  stream.signal.addEventListener("abort", leave, { once: true });
  try {
    throwIfAborted(signal);
    for await (const filled of fillParts(watched(stream, patience), { partBytes: stream.partBytes, lend })) {
      throwIfAborted(signal);
      const { part } = filled;
      parts[part.partNumber - 1] = part;
      held.set(part.partNumber, filled);
      if (filled.isLast && part.partNumber === 1) {
        allCame();
        await sendWhole(engine, job, { source, wasTried: false });
        return part.length;
      }
      // Another part follows, so this one is sent as a part of an upload, whatever its size.
      if (!filled.isLast) parts.push({ ...part, partNumber: part.partNumber + 1, offset: part.offset + part.length });
      const sending = send(filled).catch(fail);
      underWay.add(sending);
      void sending.then(() => underWay.delete(sending));
    }
    allCame();
    await Promise.all(underWay);
    throwIfAborted(signal);
    if (parts.length === 0) await sendEmpty(engine, { key: job.key, nonce: job.nonce, signal });
    else {
      await sweepLost(job);
      await completeUpload(engine, job);
    }
    return parts.reduce((sum, { length }) => sum + length, 0);
  } catch (error) {
    fail(error);
    await Promise.all(underWay);
    if (!stream.signal.aborted) await sweepLost(job);
    const { uploadId } = job.memory;
    if (uploadId !== null) await abandonInTime(engine, { key: job.key, uploadId });
    throwIfAborted(stream.signal);
    throw faults[0];
  } finally {
    signal.removeEventListener("abort", stop);
    stream.signal.removeEventListener("abort", leave);
    allCame();
  }
}

function jobOf(
  { subject, key, sweep, onMoved, partBytes }: StreamToSend,
  about: { patience: Patience; signal: AbortSignal; held: ReadonlyMap<number, FilledPart> },
): SendRequests {
  const { patience, signal, held } = about;
  return {
    path: subject,
    key,
    plan: { partBytes, parts: [] },
    nonce: randomBytes(16).toString("hex"),
    knownSums: ({ partNumber }) => {
      const crc32 = held.get(partNumber)?.crc32;
      return crc32 === undefined ? null : { crc32 };
    },
    memory: rememberHere(),
    watch: { signal, patience, onMoved, onPart: () => undefined, onRetry: () => undefined },
    sweep,
  };
}

async function* watched(stream: StreamToSend, patience: Patience): AsyncGenerator<Buffer, void, void> {
  const { input, subject, onRead } = stream;
  try {
    for await (const chunk of input) {
      onRead(chunk.length);
      patience.progressed();
      yield chunk;
    }
    // The store is not to blame for the time until the input ended.
    patience.progressed();
  } catch (error) {
    throw isFault(error) ? error : diskFault(error, { op: "read", subject, otherwise: "READ_FAILED" });
  }
}
