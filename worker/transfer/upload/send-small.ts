import { closeSync, constants, fstatSync, openSync, readSync } from "node:fs";
import { hash } from "node:crypto";
import { toFault, type Fault } from "#protocol/faults/fault.ts";
import type { StoreChecksum } from "#protocol/wire/store-checksum.ts";
import { isSurePut, readPut } from "#storage/s3/answers.ts";
import { sumToHex } from "#storage/checksums/combine-crc32.ts";
import type { PlannedPart } from "#storage/s3/plan.ts";
import { diskSense } from "#worker/base/adaptive-sync-io.ts";
import { throwIfAborted } from "#worker/base/clock.ts";
import { callSummed, type SummedAnswer } from "../store-session/call-summed.ts";
import type { Engine } from "../engine.ts";
import { SHED } from "../concurrency/flight.ts";
import { HEAD_ROOM_BYTES, HeldBody } from "../http/http-client.ts";
import { hasGrown, isSameFile } from "#worker/base/identity.ts";
import { identityOf } from "#worker/base/file-identity.ts";
import { isSmallFor, smallBuffersOf } from "../memory/small-buffer-pool.ts";
import { tellLink, waitAfter } from "../store-session/retry.ts";
import type { SendJob } from "./send-job.ts";
import { arrivedBefore } from "./send-part.ts";
import { sumBytes } from "#worker/base/sum-bytes.ts";
import { TryTwice } from "../concurrency/hedged-request.ts";

/**
 * A small file in one request, out of memory: what makes thousands of them cheap. It is read, summed, signed and given to the
 * kernel in one go, and sent once more beside that when it is late. Whatever is not as it mostly is (a disk that has to be
 * waited for, a limit, a store that refuses, a link that is down) is left to the way of all other files, which knows what
 * to do, and how often.
 */

/** The store has it. `isSure`: as that of `sendPart`. */
export interface SentSmall {
  etag: string;
  crc32: string;
  isSure: boolean;
}

/** "left": nothing was sent; "tried": something may have arrived. Either way it has to take the long way. */
export type SmallOutcome = SentSmall | "left" | "tried";

/** The only part of a file that may be sent so; null when it may not. */
export function smallPartOf(engine: Pick<Engine, "memoryBytes">, job: SendJob): PlannedPart | null {
  const [part, ...more] = job.plan.parts;
  const isWhole = part !== undefined && more.length === 0 && job.open === undefined;
  return isWhole && isSmallFor(engine, part.length) && job.memory.parts.size === 0 ? part : null;
}

/** Faults: those of the store that will not change, CANCELLED. */
export async function sendSmall(engine: Engine, job: SendJob, part: PlannedPart): Promise<SmallOutcome> {
  const { watch } = job;
  const { signal } = watch;
  const { retrier } = engine;
  try {
    return await engine.gate.run({ signal, size: "small" }, () => sendNow(engine, job, part));
  } catch (error) {
    watch.onPart(part, signal.aborted || error === SHED ? "waiting" : "again");
    throwIfAborted(signal);
    if (error === SHED) return "tried";
    const fault = toFault(error);
    tellLink(retrier, fault, "free");
    if (fault.retry === "never") throw fault;
    watch.onRetry(fault);
    retrier.onTrouble?.(fault);
    const waitMs = waitAfter(retrier.clock, fault, { tries: 1, atOnce: fault.retry === "now" });
    if (waitMs > 0 && !retrier.breaker.isDown) await retrier.clock.sleep(waitMs, signal);
    return "tried";
  }
}

async function sendNow(engine: Engine, job: SendJob, part: PlannedPart): Promise<SmallOutcome> {
  const { limiter, retrier, store } = engine;
  if (retrier.breaker.isDown || limiter.bytesPerSecond > 0 || !diskSense.isQuick()) return "left";
  const buffers = smallBuffersOf(engine);
  const memory = buffers.lend(HEAD_ROOM_BYTES + part.length);
  const bytes = memory.subarray(HEAD_ROOM_BYTES, HEAD_ROOM_BYTES + part.length);
  const known = job.knownSums(part);
  const crc32 = readWhole(job, bytes) ? sumToHex(sumBytes(bytes)) : null;
  if (crc32 === null || (known !== null && known.crc32 !== crc32)) {
    buffers.takeBack(memory);
    return "left";
  }
  const flight = new SmallFlight(engine, job, { part, memory, crc32 });
  const said = await flight.fly();
  if (flight.isFree) buffers.takeBack(memory);
  if (store.wantsEtag()) learnEtags(engine, bytes, said.etag);
  retrier.breaker.up();
  job.watch.patience.progressed();
  job.watch.onPart(part, "done");
  return { ...said, crc32 };
}

/** As the one of that name in `send-part`. A system that may not take an MD5 does not know. */
function learnEtags({ store }: Engine, bytes: Buffer, etag: string): void {
  try {
    store.seeEtag(etag, hash("md5", bytes));
  } catch {
    // Then nothing is sent twice.
  }
}

/** Whether all of it is there, and it is still the file that is meant: what the disk says otherwise it says on the long way. */
function readWhole({ path, identity, onGrown }: SendJob, into: Buffer): boolean {
  const startedAt = performance.now();
  try {
    // What became a pipe meanwhile would not be waited for.
    const fd = openSync(path, constants.O_RDONLY | constants.O_NONBLOCK);
    try {
      for (let filled = 0; filled < into.length;) {
        const count = readSync(fd, into, filled, into.length - filled, null);
        if (count === 0) return false;
        filled += count;
      }
      // Asked afterwards: what was read is what it was when it was listed.
      const now = identityOf(fstatSync(fd, { bigint: true }));
      if (isSameFile(now, identity, path)) return true;
      if (onGrown === undefined || !hasGrown(now, identity)) return false;
      onGrown();
      return true;
    } finally {
      closeSync(fd);
    }
  } catch {
    return false;
  } finally {
    diskSense.took(performance.now() - startedAt);
  }
}

type Said = Pick<SentSmall, "etag" | "isSure">;

/** A file that is sent, perhaps twice beside each other. */
class SmallFlight {
  readonly #engine: Engine;
  readonly #job: SendJob;
  readonly #about: { part: PlannedPart; memory: Buffer; crc32: string };
  readonly #tries: TryTwice<Said>;

  constructor(engine: Engine, job: SendJob, about: { part: PlannedPart; memory: Buffer; crc32: string }) {
    this.#engine = engine;
    this.#job = job;
    this.#about = about;
    this.#tries = new TryTwice(engine, {
      signal: job.watch.signal,
      lengthBytes: about.part.length,
      // Twice the same bytes are only harmless where they have equal ETags.
      mayRepeat: () => engine.store.hasEqualEtags === true,
      mayShed: true,
      ask: (isHedge) => this.#ask(isHedge),
      onMoved: job.watch.onMoved,
    });
  }

  /** Nobody uses the memory any more. */
  get isFree(): boolean {
    return this.#tries.wasOne;
  }

  /** Once. Faults: those of signing, of the network and of the store; SHED. */
  async fly(): Promise<Said> {
    this.#job.watch.onPart(this.#about.part, "moving");
    try {
      return await this.#tries.run();
    } catch (error) {
      this.#tries.takeBack();
      throw error;
    }
  }

  #ask(isHedge: boolean): Promise<Said> {
    const { part, memory, crc32 } = this.#about;
    const { key, nonce, watch } = this.#job;
    const { meter, gate } = this.#engine;
    const body = new HeldBody(memory, {
      lengthBytes: part.length,
      bytesPerSecond: () => meter.bytesPerSecond() / Math.max(1, gate.held),
      sent: (bytes) => {
        if (bytes > 0) meter.add(bytes);
        this.#tries.moved(bytes, isHedge);
      },
    });
    let md5: string | undefined;
    const make = (checksum: StoreChecksum) => {
      if (!isHedge) this.#tries.takeBack();
      if (checksum === "md5") md5 ??= hash("md5", body.bytes);
      const sums = { crc32, checksum, ...(checksum === "md5" && { md5 }) };
      return {
        operation: { op: "put", key, nonce, sizeBytes: part.length, ...sums } as const,
        signal: watch.signal,
        body,
        onBegun: (end: (fault: Fault) => void) => this.#tries.begun(end),
      };
    };
    const read = ({ answer, subject }: SummedAnswer): Said => ({
      etag: readPut(answer, subject).etag,
      isSure: isSurePut(answer, { crc32, ...(md5 !== undefined && { md5 }) }),
    });
    return callSummed(this.#engine, make, read).catch((error: unknown) =>
      arrivedBefore(this.#engine, this.#job, error),
    );
  }
}
