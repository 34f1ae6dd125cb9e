import type { Socket } from "node:net";
import { constants } from "node:os";
import { network } from "#storage/network/network.ts";
import {
  descriptorOf,
  directSocketOf,
  systemError,
  type DirectSocket,
  type Encrypter,
  type Straight,
} from "../socket/move-directly.ts";
import type { PacedSocket } from "../exchange.ts";
import type { Origin } from "../socket/open-socket.ts";
import type { Reader } from "../socket/read-at-ticks.ts";
import { opensslCalls, type TlsClient, type TlsTicket } from "./openssl-calls.ts";

/**
 * TLS on a TCP socket of Node's with one call for each record, bypassing Node's streams (see `openssl-calls.ts`). So
 * encrypted connections are read at ticks, watched for room and paced as plain ones are. Node still owns the socket: it
 * connects, raises events, and what it reads by itself is decrypted here.
 */
export interface Encryption {
  /** Returns whether connections to an origin are encrypted here; otherwise Node does it. */
  isFor(origin: Origin): boolean;
  /**
   * Does part of the work of `begin` before the first connection, because reading the certificate authorities takes 15 ms.
   */
  prepare(): void;
  /** Begins TLS on a connected socket. Returns null when it is left to Node. */
  begin(socket: Socket, origin: Origin): EncryptedSocket | null;
  /** Leaves all further handshakes with an origin to Node, which reports what is wrong. Called when one failed here. */
  leaveToNode(origin: Origin): void;
  close(): void;
}

/** Takes bytes that the kernel had no room for: a socket of Node, or the layer that encrypts for it. */
export interface Outlet {
  write(bytes: Buffer, done?: (error?: Error | null) => void): unknown;
}

/** Most bytes that one TLS record holds. */
const RECORD_BYTES = 16 * 1024;
/**
 * A new connection may send ten packets before the first of them is acknowledged, and a record is readable only when it is
 * complete. In a record of full length the first bytes of a request would arrive a round trip later.
 */
const FIRST_RECORD_BYTES = 4 * 1024;
/** Bytes of each request that go in such short records. */
const FIRST_BYTES = 2 * FIRST_RECORD_BYTES;
const AGAIN = -constants.errno.EAGAIN;

/** Creates the encryption of one client. `isPinned`: a key is pinned, which only Node compares. */
export function createEncryption(about: {
  ca: () => string | undefined;
  isPinned: boolean;
  straight: () => Straight | null;
}): Encryption {
  const { ca, isPinned, straight } = about;
  const byNode = new Set<string>();
  const tickets = new Map<string, TlsTicket>();
  const drop = (ticket: TlsTicket | undefined) => {
    if (ticket !== undefined) opensslCalls()?.dropTicket(ticket);
  };
  return {
    isFor: ({ isTls, key }) => isTls && !isPinned && !byNode.has(key) && straight() !== null && opensslCalls() !== null,
    leaveToNode: ({ key }) => void byNode.add(key),
    prepare: () => {
      try {
        network().authorities.prepare();
        opensslCalls()?.prepare(ca());
      } catch {
        // An unreadable file is reported when the connection is made.
      }
    },
    begin: (socket, { host, key }) => {
      const descriptor = descriptorOf(socket);
      const direct = directSocketOf(socket, straight);
      if (descriptor === null || direct === null) return null;
      network().authorities.prepare();
      const client = opensslCalls()?.client(descriptor(), { host, ca: ca(), resume: tickets.get(key) ?? null });
      if (client == null) return null;
      const keep = (ticket: TlsTicket) => {
        drop(tickets.get(key));
        tickets.set(key, ticket);
      };
      return new EncryptedSocket({ socket, descriptor, direct, client, keep });
    },
    close: () => {
      for (const ticket of tickets.values()) drop(ticket);
      tickets.clear();
    },
  };
}

interface EncryptedOptions {
  socket: Socket;
  descriptor: () => number;
  /** Moves the encrypted bytes. */
  direct: DirectSocket;
  client: TlsClient;
  /** Keeps a session ticket with which further connections can resume. */
  keep(ticket: TlsTicket): void;
}

/** One encrypted connection, from its handshake on. */
export class EncryptedSocket implements DirectSocket, Encrypter {
  readonly #options: EncryptedOptions;
  /** Bytes given to `outlet` and not encrypted yet, in order. */
  readonly #waiting: { bytes: Buffer; done: (() => void) | undefined }[] = [];
  /** Listener that waits for room in the kernel. */
  #goOn: (() => void) | null = null;
  #isTicketKept = false;
  /** Bytes of the present request that went in short records. */
  #begunBytes = 0;
  #isFree = false;
  hasMore = false;
  readonly encrypter = this;
  /** Encrypts and sends all bytes that it is given, in order, when there is room. */
  readonly outlet: Outlet = { write: (bytes, done) => this.#queue(bytes, done) };

  constructor(options: EncryptedOptions) {
    this.#options = options;
  }

  get #isOpen(): boolean {
    return !this.#isFree && this.#options.descriptor() >= 0;
  }

  /** Goes on with the handshake. `bytes`: what Node read of it; null at its start. */
  shake(bytes: Buffer | null): "done" | "waits" | "failed" {
    const { client } = this.#options;
    if (!this.#isOpen) return "failed";
    if (bytes === null) {
      const outcome = client.shake();
      return client.flush() < 0 ? "failed" : outcome;
    }
    client.readFrom(bytes);
    const outcome = client.shake();
    // Also sends the alert of a handshake that failed.
    client.flush();
    // Only session tickets may come with the end of the handshake: any other byte is a failure.
    const isSilent = outcome !== "done" || client.read(Buffer.alloc(1)) === AGAIN;
    client.readFrom(null);
    return isSilent ? outcome : "failed";
  }

  /**
   * Decrypts `bytes`, which Node read, into `plain`. Calls `take` with the length of each decrypted piece; it returns false
   * to stop. Throws the system's error when the connection is broken.
   */
  decrypt(bytes: Buffer, plain: Buffer, take: (count: number) => boolean): "more" | "ended" {
    const { client } = this.#options;
    if (!this.#isOpen) return "more";
    client.readFrom(bytes);
    try {
      for (;;) {
        const count = client.read(plain);
        if (count === AGAIN) return "more";
        if (count < 0) throw systemError("read", count);
        if (count === 0) return "ended";
        if (!take(count)) return "more";
      }
    } finally {
      if (!this.#isFree) client.readFrom(null);
    }
  }

  read(into: Buffer): number | null {
    const { client } = this.#options;
    this.hasMore = false;
    if (!this.#isOpen) return null;
    let filled = 0;
    // Stops before a record might not fit: its rest would stay in OpenSSL, where no event reports it.
    while (filled === 0 || into.length - filled >= RECORD_BYTES) {
      const count = client.read(filled === 0 ? into : into.subarray(filled));
      if (count > 0) filled += count;
      else if (filled > 0) return filled;
      else if (count === 0) return 0;
      else if (count === AGAIN) return null;
      else throw systemError("read", count);
    }
    this.hasMore = true;
    return filled;
  }

  /**
   * Returns how many of `bytes` were taken: sent, or encrypted and waiting for the kernel. 0 while earlier bytes wait, so as
   * not to overtake them.
   */
  write(bytes: Buffer): number {
    if (this.#waiting.length > 0 || !this.#isOpen) return 0;
    const taken = this.encrypt(bytes);
    this.flush();
    return taken;
  }

  get pendingBytes(): number {
    return this.#isOpen ? this.#options.client.pendingBytes() : 0;
  }

  encrypt(bytes: Buffer): number {
    if (!this.#isOpen) return 0;
    const { client } = this.#options;
    let done = 0;
    while (this.#begunBytes < FIRST_BYTES && done < bytes.length) {
      const record = bytes.subarray(done, done + FIRST_RECORD_BYTES);
      const taken = client.encrypt(record);
      done += taken;
      this.#begunBytes += taken;
      if (taken < record.length) return done;
    }
    return done === bytes.length ? done : done + client.encrypt(done === 0 ? bytes : bytes.subarray(done));
  }

  flush(): void {
    if (!this.#isOpen) return;
    const { client, socket, direct } = this.#options;
    const error = client.flush();
    if (error < 0) socket.destroy(systemError("send", error));
    else if (client.pendingBytes() > 0) direct.whenRoom(this.#onRoom);
  }

  readonly #onRoom = (): void => {
    const goOn = this.#goOn;
    this.#goOn = null;
    if (goOn === null) this.flush();
    else goOn();
    this.#giveWaiting();
  };

  #queue(bytes: Buffer, done: (() => void) | undefined): void {
    this.#waiting.push({ bytes, done });
    if (this.#waiting.length === 1) this.#giveWaiting();
  }

  #giveWaiting(): void {
    for (;;) {
      const [first] = this.#waiting;
      if (first === undefined || !this.#isOpen) return;
      const taken = this.encrypt(first.bytes);
      this.flush();
      if (taken < first.bytes.length) {
        first.bytes = first.bytes.subarray(taken);
        // With nothing taken, `flush` waits for room and then calls this again.
        if (taken === 0) return;
        continue;
      }
      this.#waiting.shift();
      first.done?.();
    }
  }

  /** Called when a request has ended: keeps a session ticket that came with its answer. */
  rest(): void {
    this.#begunBytes = 0;
    if (this.#isTicketKept || !this.#isOpen) return;
    const ticket = this.#options.client.ticket();
    if (ticket === null) return;
    this.#isTicketKept = true;
    this.#options.keep(ticket);
  }

  /** Frees the TLS state. Called when the socket is closed. */
  free(): void {
    if (this.#isFree) return;
    this.#isFree = true;
    this.#options.direct.forgetRoom(this.#onRoom);
    this.#options.client.free();
  }

  hasInput(): boolean {
    return this.hasMore || this.#options.direct.hasInput();
  }

  get isWatched(): boolean {
    return this.#options.direct.isWatched;
  }

  expect(reader: Reader): boolean {
    return this.#options.direct.expect(reader);
  }

  forget(): void {
    this.#options.direct.forget();
  }

  /** Always fails: bytes of a file cannot be encrypted on their way to the socket. */
  sendFile(): "failed" {
    return "failed";
  }

  whenRoom(goOn: () => void): boolean {
    this.#goOn = goOn;
    return this.#options.direct.whenRoom(this.#onRoom);
  }

  forgetRoom(goOn: () => void): void {
    if (this.#goOn === goOn) this.#goOn = null;
  }

  paced(): PacedSocket | null {
    return this.#options.direct.paced();
  }
}
