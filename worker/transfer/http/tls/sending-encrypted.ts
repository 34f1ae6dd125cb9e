import { Fault } from "#protocol/faults/fault.ts";
import type { Buffers } from "../socket/buffers.ts";
import type { UploadBody } from "../exchange.ts";
import type { DirectSocket, Encrypter } from "../socket/move-directly.ts";
import { MOST_HEAD_BYTES, type GoingOut, type SendingEvents } from "../sending.ts";

/**
 * Options of `SendingEncrypted`, which sends one request with a body over a connection that is encrypted here. So much is
 * read and encrypted that the kernel can take all it has room for in one call; the rest waits encrypted. A buffer is used
 * only while the body is read into it, so all connections share one while reads are synchronous.
 */
export interface SendingEncryptedOptions {
  direct: Pick<DirectSocket, "paced" | "whenRoom" | "forgetRoom">;
  encrypter: Encrypter;
  head: string;
  body: UploadBody;
  buffers: Buffers;
  /** Shared by all requests of one connection. */
  events: SendingEvents;
}

/** Bytes read at a time: they stay in the CPU cache until they are encrypted. */
const CHUNK_BYTES = 48 * 1024;
/** More is encrypted while fewer bytes wait. */
const AHEAD_BYTES = 32 * 1024;
/** Times that the kernel may take everything at once before other connections have their turn. */
const MOST_IN_A_ROW = 4;

export class SendingEncrypted implements GoingOut {
  readonly #options: SendingEncryptedOptions;
  readonly #body: UploadBody;
  /** Whether only the limiter has to be asked, not `allow`. */
  readonly #isFree: boolean;
  #buffer: Buffer | null = null;
  /** Bytes of the body that were encrypted, and those that the kernel has taken. */
  #given = 0;
  #taken = 0;
  #reading: Promise<void> | null = null;
  /** Whether the body allows nothing to be read at present. */
  #isWaiting = false;
  #isStopped = false;

  /** Faults: BAD_INPUT for a head that is too long. */
  constructor(options: SendingEncryptedOptions) {
    const { direct, encrypter, head, body } = options;
    this.#options = options;
    this.#body = body;
    if (head.length > MOST_HEAD_BYTES) throw new Fault("BAD_INPUT", { detail: "the request's head is too long" });
    const paced = direct.paced();
    const isPaced = paced !== null && body.begins?.(paced) === true;
    this.#isFree = isPaced || body.allow === undefined;
    encrypter.encrypt(Buffer.from(head, "latin1"));
  }

  get isGiven(): boolean {
    return this.#given === this.#body.lengthBytes;
  }

  get isSent(): boolean {
    return this.#taken === this.#body.lengthBytes;
  }

  get takenBytes(): number {
    return this.#taken;
  }

  get reading(): Promise<void> | null {
    return this.#reading;
  }

  /** Sends as much as there is room for, and continues by itself. */
  next(): void {
    const { direct, encrypter, events } = this.#options;
    for (let turns = MOST_IN_A_ROW; turns > 0; turns--) {
      if (this.#isStopped) return;
      const mayGoOn = this.#encryptAhead();
      encrypter.flush();
      this.#count(encrypter.pendingBytes);
      if (this.isSent) {
        events.onSent(this.#body);
        return;
      }
      if (!mayGoOn) return;
      if (encrypter.pendingBytes > 0) {
        direct.whenRoom(this.#onRoom);
        return;
      }
    }
    setImmediate(this.#onRoom);
  }

  readonly #onRoom = (): void => this.next();

  /** Counts the bytes that the kernel has taken. Encrypted bytes that still wait are the last ones of the body. */
  #count(pendingBytes: number): void {
    const taken = pendingBytes === 0 ? this.#given : Math.max(this.#taken, this.#given - pendingBytes);
    const count = taken - this.#taken;
    if (count === 0) return;
    this.#taken = taken;
    this.#options.events.onMoved();
    this.#body.sent(count);
  }

  /** Encrypts ahead. Returns false when the body has to be waited for; sending then continues by itself. */
  #encryptAhead(): boolean {
    const { encrypter, buffers, events } = this.#options;
    while (!this.isGiven && encrypter.pendingBytes < AHEAD_BYTES) {
      const most = this.#allow(Math.min(CHUNK_BYTES, buffers.sizeBytes, this.#body.lengthBytes - this.#given));
      if (most === 0) return false;
      this.#buffer ??= buffers.take();
      const into = this.#buffer.subarray(0, most);
      try {
        const count = this.#body.read(into, this.#given, false);
        if (typeof count !== "number") {
          this.#await(count, into);
          return false;
        }
        this.#encrypt(into, count);
      } catch (error) {
        this.release();
        events.onFault(error);
        return false;
      }
      if (this.#isStopped) return false;
    }
    return true;
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

  readonly #goOn = (): void => {
    this.#isWaiting = false;
    if (this.#isStopped) return;
    this.#options.events.onGoOn();
    this.next();
  };

  #encrypt(from: Buffer, count: number): void {
    if (count <= 0 || count > from.length) throw new Fault("INTERNAL", { detail: "a body was read past its bounds" });
    const taken = this.#options.encrypter.encrypt(from.subarray(0, count));
    this.#given += count;
    this.release();
    // Less is taken only when the connection is broken, which the socket reports.
    if (taken < count) this.stop();
  }

  #await(reading: Promise<number>, into: Buffer): void {
    const { events } = this.#options;
    events.onHold();
    this.#reading = reading.then(
      (count) => {
        this.#reading = null;
        if (this.#isStopped) {
          this.release();
          return;
        }
        events.onGoOn();
        try {
          this.#encrypt(into, count);
        } catch (error) {
          this.release();
          events.onFault(error);
          return;
        }
        this.next();
      },
      (error: unknown) => {
        this.#reading = null;
        this.release();
        if (!this.#isStopped) events.onFault(error);
      },
    );
  }

  stop(): void {
    if (this.#isStopped) return;
    this.#isStopped = true;
    this.#options.direct.forgetRoom(this.#onRoom);
    if (this.#reading !== null || this.#isWaiting) this.#options.events.onGoOn();
  }

  closed(): void {
    this.stop();
    this.release();
  }

  /** Returns the buffer to its pool once no read of the body uses it. */
  release(): void {
    if (this.#buffer === null || this.#reading !== null) return;
    this.#options.buffers.give(this.#buffer);
    this.#buffer = null;
  }
}
