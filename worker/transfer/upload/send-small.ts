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
 * Sends a small file from memory in one request, which makes thousands of them cheap. The file is read, summed, signed and
 * given to the kernel in one go, and gets a hedged request when it is late. Any unusual case (a slow disk, a limit, a
 * refusing store, a link that is down) is left to the general path with its retries.
 */

/** The store has the file. `isSure`: as in `sendPart`. */
export interface SentSmall {
  etag: string;
  crc32: string;
  isSure: boolean;
}

/** "left": nothing was sent; "tried": something may have arrived. In both cases the file has to take the general path. */
export type SmallOutcome = SentSmall | "left" | "tried";

/** Returns the only part of a file that may be sent this way; null when it may not. */
export function smallPartOf(engine: Pick<Engine, "memoryBytes">, job: SendJob): PlannedPart | null {
  const [part, ...more] = job.plan.parts;
  const isWhole = part !== undefined && more.length === 0 && job.open === undefined;
  return isWhole && isSmallFor(engine, part.length) && job.memory.parts.size === 0 ? part : null;
}

/** Tries once to send a small file. Faults: those of the store that will not change, CANCELLED. */
export async function sendSmall(engine: Engine, job: SendJob, part: PlannedPart): Promise<SmallOutcome> {
  const { watch } = job;
  const { signal } = watch;
  const { retrier } = engine;
  try {
    return await engine.semaphore.run({ signal, size: "small" }, () => sendNow(engine, job, part));
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

/** Works as `learnEtags` in `send-part`. Learns nothing where the system forbids MD5 (FIPS). */
function learnEtags({ store }: Engine, bytes: Buffer, etag: string): void {
  try {
    store.seeEtag(etag, hash("md5", bytes));
  } catch {
    // Without this knowledge no request is hedged.
  }
}

/**
 * Returns whether all bytes were read and the file is still the expected one. Errors of the disk are left to the general
 * path.
 */
function readWhole({ path, identity, onGrown }: SendJob, into: Buffer): boolean {
  const startedAt = performance.now();
  try {
    // O_NONBLOCK, so that opening a path that became a pipe meanwhile does not wait.
    const fd = openSync(path, constants.O_RDONLY | constants.O_NONBLOCK);
    try {
      for (let filled = 0; filled < into.length;) {
        const count = readSync(fd, into, filled, into.length - filled, null);
        if (count === 0) return false;
        filled += count;
      }
      // Checked after reading: the bytes read are then those of the listed file.
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

/** A small file in flight, perhaps with a hedged request. */
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
      // Sending the same bytes twice is harmless only where both have equal ETags.
      mayRepeat: () => engine.store.hasEqualEtags === true,
      mayShed: true,
      ask: (isHedge) => this.#ask(isHedge),
      onMoved: job.watch.onMoved,
    });
  }

  /** Whether nobody uses the memory any more. */
  get isFree(): boolean {
    return this.#tries.wasOne;
  }

  /** Sends the file; may be called once. Faults: those of signing, of the network and of the store; SHED. */
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
    const { meter, semaphore } = this.#engine;
    const body = new HeldBody(memory, {
      lengthBytes: part.length,
      bytesPerSecond: () => meter.bytesPerSecond() / Math.max(1, semaphore.held),
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
