import { Fault } from "#protocol/faults/fault.ts";
import type { DiskSense } from "#worker/base/adaptive-sync-io.ts";
import type { Buffers } from "./socket/buffers.ts";
import type { Outlet } from "./tls/encrypt-directly.ts";
import type { FileBody, UploadBody } from "./exchange.ts";
import type { DirectSocket } from "./socket/move-directly.ts";

/**
 * Options of `Sending`, which sends one request with a body. A buffer is filled, given to the kernel, and filled again when
 * the kernel has taken it. The length of a chunk follows how fast the kernel takes it, so that even a slow link shows
 * progress every few seconds.
 */
export interface SendingOptions {
  outlet: Outlet;
  /** Null: only the outlet can write. */
  direct: DirectSocket | null;
  disk: DiskSense;
  head: string;
  body: UploadBody;
  buffers: Buffers;
  isTls: boolean;
  now: () => number;
  /** Shared by all requests of one connection. */
  events: SendingEvents;
}

export interface SendingEvents {
  /** Called when the kernel has taken bytes. */
  onMoved(): void;
  /** Called when the body has to be waited for: that is not the network's time. */
  onHold(): void;
  onGoOn(): void;
  onSent(body: SentBody): void;
  onFault(error: unknown): void;
}

/** Properties of a body that are needed after it was sent. */
export type SentBody = Pick<UploadBody, "lengthBytes" | "bytesPerSecond">;

/** A request being sent, as its connection sees it. */
export interface GoingOut {
  /** Whether all bytes were given to the socket. */
  readonly isGiven: boolean;
  readonly isSent: boolean;
  /** Bytes of the body that the kernel has taken. */
  readonly takenBytes: number;
  /** Settles when the pending read of the body has ended; null without one. */
  readonly reading: Promise<void> | null;
  /** Stops sending. */
  stop(): void;
  /** Called when the socket is closed: the bytes that it still had to write are gone. */
  closed(): void;
}

export const MOST_HEAD_BYTES = 32 * 1024;
/**
 * Bytes allowed at a time where no buffer has to hold them. Few, because a limit set now does not apply to bytes allowed
 * before. A socket may take all of them at once.
 */
const STRAIGHT_BYTES = 256 * 1024;
const FIRST_CHUNK_BYTES = 64 * 1024;
const LEAST_CHUNK_BYTES = 16 * 1024;
/** TLS by Node keeps an encrypted copy of each chunk; with 96 connections larger ones would take much memory. */
const MOST_TLS_CHUNK_BYTES = 64 * 1024;
const QUICK_MS = 600;
const SLOW_MS = 2_000;
/** Chunks that the kernel may take in a row before other connections have their turn. */
const MOST_IN_A_ROW = 4;
/** Most bytes that the kernel may hold back after our last write. */
const KERNEL_BUFFER_BYTES = 4 * 1024 * 1024;
const MOST_ANSWER_WAIT_MS = 120_000;

const NOTHING = Buffer.alloc(0);

export class Sending implements GoingOut {
  readonly #options: SendingOptions;
  readonly #body: UploadBody;
  /** Place of the bytes in a file, when they may be sent directly from there. */
  readonly #file: FileBody | null;
  #buffer: Buffer | null = null;
  /** Bytes of the head not given to the socket yet. */
  #head: Buffer;
  /** Bytes of the body that were given to the socket, and those the kernel has taken. */
  #given = 0;
  #taken = 0;
  /** Bytes that may be sent directly from the file, and were not yet. */
  #allowed = 0;
  /** Whether only the limiter has to be asked, not `allow`. */
  readonly #isFree: boolean;
  #chunkBytes = FIRST_CHUNK_BYTES;
  #inARow = 0;
  #isWriting = false;
  #reading: Promise<void> | null = null;
  /** Whether the body allows nothing to be read at present. */
  #isWaiting = false;
  #isStopped = false;

  constructor(options: SendingOptions) {
    this.#options = options;
    this.#body = options.body;
    this.#head = Buffer.from(options.head, "latin1");
    if (this.#head.length > MOST_HEAD_BYTES) throw new Fault("BAD_INPUT", { detail: "the request's head is too long" });
    const paced = options.direct?.paced() ?? null;
    this.#file = paced === null ? null : (this.#body.file ?? null);
    const isPaced = paced !== null && this.#body.begins?.(paced) === true;
    this.#isFree = isPaced || this.#body.allow === undefined;
  }

  get isGiven(): boolean {
    return this.#given === this.#body.lengthBytes;
  }

  get isSent(): boolean {
    return this.#taken === this.#body.lengthBytes && !this.#isWriting;
  }

  get takenBytes(): number {
    return this.#taken;
  }

  get reading(): Promise<void> | null {
    return this.#reading;
  }

  /** Sends the head with the first bytes, then the rest. */
  next(): void {
    if (this.#isStopped || this.#goStraight()) return;
    this.#buffer ??= this.#options.buffers.take();
    const from = this.#head.length;
    const wanted = Math.min(this.#chunkBytes, this.#buffer.length - from, this.#body.lengthBytes - this.#given);
    if (wanted === 0) {
      this.#write(0);
      return;
    }
    // Bytes that were allowed but could not be sent directly are still allowed.
    const arePassed = this.#allowed > 0;
    const most = arePassed ? Math.min(wanted, this.#allowed) : this.#allow(wanted);
    if (most === 0) return;
    let count: number | Promise<number>;
    try {
      count = this.#body.read(this.#buffer.subarray(from, from + most), this.#given, arePassed);
    } catch (error) {
      this.#options.events.onFault(error);
      return;
    }
    if (typeof count === "number") this.#checked(count, most);
    else this.#await(count, (read) => this.#checked(read, most));
  }

  /** Returns how many bytes may be read. 0: none yet; sending then continues by itself. */
  #allow(wanted: number): number {
    const most = this.#isFree ? wanted : (this.#body.allow?.(wanted, this.#goOn) ?? wanted);
    if (most === 0) {
      this.#isWaiting = true;
      this.#options.events.onHold();
    }
    return most;
  }

  /**
   * Sends directly from the file to the socket while there is room. Returns false when the next bytes have to go through a
   * buffer, where any error shows.
   */
  #goStraight(): boolean {
    const file = this.#file;
    const { direct, disk, events, now } = this.#options;
    if (file === null || direct === null || !disk.isQuick()) return false;
    if (this.#head.length > 0) {
      this.#head = this.#head.subarray(direct.write(this.#head));
      if (this.#head.length > 0) return false;
    }
    for (let turns = MOST_IN_A_ROW; turns > 0; turns--) {
      if (this.#isStopped) return true;
      const wanted = Math.min(STRAIGHT_BYTES, this.#body.lengthBytes - this.#given);
      // Tops up a small allowance, so that filling the socket does not take two calls.
      if (this.#allowed > 0 && this.#allowed < wanted && this.#isFree)
        this.#allowed += file.passNow(wanted - this.#allowed);
      if (this.#allowed === 0) {
        const most = this.#allow(wanted);
        if (most === 0) return true;
        const passed = file.pass(most);
        if (typeof passed !== "number") {
          this.#await(passed, (count) => {
            this.#allowed = count;
            this.next();
          });
          return true;
        }
        this.#allowed = passed;
      }
      const startedAt = now();
      const took = direct.sendFile({ fd: file.fd, offset: file.offset + this.#given, bytes: this.#allowed });
      disk.took(now() - startedAt);
      if (took === "failed") return false;
      const count = took === "full" ? 0 : took;
      this.#allowed -= count;
      this.#given += count;
      this.#taken += count;
      if (count > 0) {
        events.onMoved();
        this.#body.sent(count);
      }
      if (this.#taken === this.#body.lengthBytes) {
        this.release();
        events.onSent(this.#body);
        return true;
      }
      if (this.#allowed > 0) return direct.whenRoom(this.#onRoom);
    }
    setImmediate(() => this.next());
    return true;
  }

  readonly #onRoom = (): void => this.next();

  readonly #goOn = (): void => {
    if (!this.#isWaiting || this.#isStopped) return;
    this.#isWaiting = false;
    this.#options.events.onGoOn();
    this.next();
  };

  #await(pending: Promise<number>, then: (count: number) => void): void {
    this.#options.events.onHold();
    this.#reading = pending.then(
      (count) => {
        this.#reading = null;
        if (this.#isStopped) this.release();
        else {
          this.#options.events.onGoOn();
          then(count);
        }
      },
      (error: unknown) => {
        this.#reading = null;
        if (this.#isStopped) this.release();
        else this.#options.events.onFault(error);
      },
    );
  }

  #checked(count: number, most: number): void {
    if (count > 0 && count <= most) this.#write(count);
    else this.#options.events.onFault(new Fault("INTERNAL", { detail: "a body was read past its bounds" }));
  }

  #write(count: number): void {
    if (this.#buffer === null) return;
    const { outlet, direct, now } = this.#options;
    const startedAt = now();
    this.#isWriting = true;
    this.#given += count;
    this.#allowed = Math.max(0, this.#allowed - count);
    this.#buffer.set(this.#head);
    const chunk = this.#buffer.subarray(0, this.#head.length + count);
    this.#head = NOTHING;
    const took = direct?.write(chunk) ?? 0;
    if (took === chunk.length) {
      this.#isWriting = false;
      this.#written(count, 0);
      return;
    }
    // The outlet writes the rest when the kernel has room.
    outlet.write(took === 0 ? chunk : chunk.subarray(took), (error) => {
      this.#isWriting = false;
      if (this.#isStopped) this.release();
      // The socket's own error reports a failed write.
      else if (error == null) this.#written(count, now() - startedAt);
    });
  }

  #written(count: number, tookMs: number): void {
    const { events, isTls, buffers } = this.#options;
    const mostChunkBytes = isTls ? MOST_TLS_CHUNK_BYTES : buffers.sizeBytes;
    this.#taken += count;
    events.onMoved();
    if (count > 0) this.#body.sent(count);
    if (this.#taken === this.#body.lengthBytes) {
      this.release();
      events.onSent(this.#body);
      return;
    }
    if (tookMs > SLOW_MS) this.#chunkBytes = Math.max(LEAST_CHUNK_BYTES, this.#chunkBytes / 2);
    else if (tookMs < QUICK_MS) this.#chunkBytes = Math.min(mostChunkBytes, this.#chunkBytes * 2);
    if (++this.#inARow < MOST_IN_A_ROW) this.next();
    else {
      this.#inARow = 0;
      setImmediate(() => this.next());
    }
  }

  stop(): void {
    if (this.#isStopped) return;
    this.#isStopped = true;
    this.#options.direct?.forgetRoom(this.#onRoom);
    if (this.#reading !== null || this.#isWaiting) this.#options.events.onGoOn();
  }

  closed(): void {
    this.stop();
    this.#isWriting = false;
    this.release();
  }

  /** Returns the buffer to its pool once neither the socket nor a read of the body uses it. */
  release(): void {
    if (this.#buffer === null || this.#isWriting || this.#reading !== null) return;
    this.#options.buffers.give(this.#buffer);
    this.#buffer = null;
  }
}

/** Returns a body of bytes in memory. */
export function bodyOf(bytes: Buffer): UploadBody {
  return {
    lengthBytes: bytes.length,
    read: (into, at) => bytes.copy(into, 0, at, at + into.length),
    sent: () => undefined,
    // Not measured, so a slow rate is assumed.
    bytesPerSecond: () => 64 * 1024,
  };
}

/**
 * Returns how long the answer may take after the kernel has the last byte, ms: on a slow link the store gets it much later.
 */
export function answerWaitMs(body: SentBody, idleMs: number): number {
  const drainMs = (Math.min(body.lengthBytes, KERNEL_BUFFER_BYTES) / Math.max(1, body.bytesPerSecond())) * 1000;
  return Math.min(MOST_ANSWER_WAIT_MS, idleMs + 2 * drainMs);
}
