import type { Socket } from "node:net";
import { directSocketOf, type DirectSocket } from "./move-directly.ts";
import type { EncryptedSocket, Outlet } from "./encrypt-directly.ts";
import { openSocket, type Origin } from "./open-socket.ts";
import { Tap } from "./tap.ts";
import type { Shared } from "./task.ts";

/**
 * The socket of one connection, encrypted where its origin says so: connecting -> ready -> closed. Encryption is done here where that
 * can be had (`encrypt-directly.ts`), otherwise by Node, which also makes each handshake again that fails here: what it says then
 * is what is told.
 */
export interface ChannelEvents {
  onReady(): void;
  /** A handshake begins anew, on another socket. */
  onAnew(): void;
  /** Bytes came that stand in `bytes` only during the call. */
  onBytes(bytes: Buffer): void;
  /** There is more than the socket reads by itself. */
  onMore(): void;
  /** The other side sends no more. */
  onEnded(): void;
  onBroken(error: unknown): void;
  /** Nothing touches the buffers any more. */
  onClosed(): void;
}

/**
 * What a socket reads by itself. With TLS by Node that is everything, in pieces as long as a record. Of others it is only the first
 * bytes: their copy costs nothing beside the call, and the rest is read to where it belongs.
 */
const FIRST_BYTES = 16 * 1024;

type Way = "plain" | "encrypted here" | "encrypted by Node";

export class Channel {
  readonly #origin: Origin;
  readonly #shared: Shared;
  readonly #events: ChannelEvents;
  #socket: Socket;
  #tap: Tap;
  #encrypted: EncryptedSocket | null = null;
  #direct: DirectSocket | null = null;
  #isReady = false;

  constructor(origin: Origin, shared: Shared, events: ChannelEvents) {
    this.#origin = origin;
    this.#shared = shared;
    this.#events = events;
    const way: Way = !origin.isTls ? "plain" : shared.encryption.isFor(origin) ? "encrypted here" : "encrypted by Node";
    this.#socket = this.#open(way);
    this.#tap = this.#tapOf(way);
  }

  get tap(): Tap {
    return this.#tap;
  }

  /** Null with TLS by Node, and before it is ready. */
  get direct(): DirectSocket | null {
    return this.#direct;
  }

  /** Nothing came that was not asked for, as far as the kernel cannot tell. */
  get isQuiet(): boolean {
    if (this.#direct?.hasMore !== true) return true;
    try {
      return this.#direct.read(this.#shared.scratch) === null;
    } catch {
      return false;
    }
  }

  /** Where goes what `direct` had no room for, or all of it. */
  get outlet(): Outlet {
    return this.#encrypted?.outlet ?? this.#socket;
  }

  #open(way: Way): Socket {
    const { now, scratch, tls, trips } = this.#shared;
    let attemptedAt = now();
    // All of them read into the same one, in which nothing is meant to stay.
    const first = scratch.subarray(0, FIRST_BYTES);
    const came = (count: number): true => {
      if (socket === this.#socket) this.#came(first, count);
      return true;
    };
    const origin = way === "encrypted here" ? { ...this.#origin, isTls: false } : this.#origin;
    const socket: Socket = openSocket(origin, { buffer: first, callback: came }, tls)
      .on("connectionAttempt", () => (attemptedAt = now()))
      .on("connect", () => {
        trips.add(now() - attemptedAt);
        if (way === "plain") this.#ready(directSocketOf(socket, this.#shared.straight));
        else if (way === "encrypted here") this.#encrypt();
      })
      .on("secureConnect", () => this.#ready(null))
      .on("end", () => {
        if (socket === this.#socket) this.#events.onEnded();
      })
      .on("error", (error) => {
        if (socket === this.#socket) this.#events.onBroken(error);
      })
      .on("close", () => {
        if (socket === this.#socket) this.#closed();
      });
    return socket;
  }

  #tapOf(way: Way): Tap {
    const tap = new Tap(this.#socket);
    // One of Node's own that is told so before it is connected begins to read afterwards, whatever it is told then.
    if (way === "encrypted by Node") tap.resume();
    return tap;
  }

  #ready(direct: DirectSocket | null): void {
    if (this.#isReady) return;
    this.#isReady = true;
    this.#direct = direct;
    this.#events.onReady();
  }

  #encrypt(): void {
    this.#encrypted = this.#shared.encryption.begin(this.#socket, this.#origin);
    this.#shake(null);
  }

  #shake(bytes: Buffer | null): void {
    const outcome = this.#encrypted?.shake(bytes) ?? "failed";
    if (outcome === "done") this.#ready(this.#encrypted);
    else if (outcome === "failed") this.#leaveToNode();
  }

  #leaveToNode(): void {
    const [left, encrypted] = [this.#socket, this.#encrypted];
    this.#shared.encryption.leaveToNode(this.#origin);
    this.#encrypted = null;
    this.#socket = this.#open("encrypted by Node");
    this.#tap = this.#tapOf("encrypted by Node");
    left.on("close", () => encrypted?.free()).destroy();
    this.#events.onAnew();
  }

  #came(first: Buffer, count: number): void {
    const bytes = first.subarray(0, count);
    const encrypted = this.#encrypted;
    if (encrypted === null) this.#events.onBytes(bytes);
    else if (!this.#isReady) this.#shake(bytes);
    else this.#decrypt(encrypted, bytes);
    if (count === first.length && this.#direct !== null) this.#events.onMore();
  }

  #decrypt(encrypted: EncryptedSocket, bytes: Buffer): void {
    // As far from the encrypted ones as there is room.
    const plain = this.#shared.scratch.subarray(-FIRST_BYTES);
    const take = (count: number): boolean => {
      this.#events.onBytes(plain.subarray(0, count));
      return !this.#socket.destroyed;
    };
    try {
      if (encrypted.decrypt(bytes, plain, take) === "ended") this.#events.onEnded();
    } catch (error) {
      this.#events.onBroken(error);
    }
  }

  #closed(): void {
    this.#encrypted?.free();
    this.#events.onClosed();
  }

  ref(): void {
    this.#socket.ref();
  }

  unref(): void {
    this.#socket.unref();
  }

  /** A request is over, and the connection stays. */
  rest(): void {
    this.#encrypted?.rest();
  }

  /** `isReset`: what the kernel still holds does not go over the link any more. TLS sockets of Node cannot do that. */
  close({ isReset }: { isReset: boolean }): void {
    const isByNode = this.#origin.isTls && this.#encrypted === null;
    if (isReset && !isByNode) this.#socket.resetAndDestroy();
    else this.#socket.destroy();
  }
}
