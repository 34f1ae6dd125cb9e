import type { Socket } from "node:net";
import { proxyHandshake, type ProxyHandshake } from "#storage/network/proxy-handshake.ts";
import type { Proxy } from "#storage/network/proxy.ts";
import { connectProxy, openTunnel, readyEventOf, tunnelFault } from "#storage/network/tunnel.ts";
import type { Attempt } from "./addresses.ts";
import { directSocketOf, type DirectSocket } from "./move-directly.ts";
import type { EncryptedSocket, Outlet } from "../tls/encrypt-directly.ts";
import { encryptInside, isAskedOfProxy, openSocket, openToProxy, type Origin } from "./open-socket.ts";
import { Tap } from "./read-pause.ts";
import type { Shared } from "../task.ts";

/**
 * Events of a channel: the socket of one connection, encrypted where its origin requires it, in the states connecting ->
 * ready -> closed. `encrypt-directly.ts` encrypts where that is possible, otherwise Node. Node also repeats each handshake
 * that fails here, so that its error is reported.
 */
export interface ChannelEvents {
  onReady(): void;
  /** Called when a handshake begins anew, on another socket. */
  onAnew(): void;
  /** Called with bytes that are valid only during the call. */
  onBytes(bytes: Buffer): void;
  /** Called when there is more than the socket reads by itself. */
  onMore(): void;
  /** Called when the other side sends no more. */
  onEnded(): void;
  onBroken(error: unknown): void;
  /** Called when nothing touches the buffers any more. */
  onClosed(): void;
}

/**
 * Bytes that a socket reads by itself at a time. With TLS by Node it reads everything, one record at a time. Other sockets
 * read only the first bytes: copying them is cheap beside the call, and the rest is read to its final place.
 */
const FIRST_BYTES = 16 * 1024;
/** An address that has not answered after this many round trips is dead, or not worth the wait. */
const TRIPS_FOR_AN_ADDRESS = 4;

type Way = "plain" | "encrypted here" | "encrypted by Node";

export class Channel {
  readonly #origin: Origin;
  readonly #shared: Shared;
  readonly #events: ChannelEvents;
  #socket: Socket;
  #tap: Tap;
  #encrypted: EncryptedSocket | null = null;
  #direct: DirectSocket | null = null;
  #way: Way;
  #isReady = false;
  #address: string | null = null;
  #attempt: Attempt | null = null;
  /** Set until the proxy has confirmed the connection to the origin. */
  #handshake: ProxyHandshake | null = null;

  constructor(origin: Origin, shared: Shared, events: ChannelEvents) {
    this.#origin = origin;
    this.#shared = shared;
    this.#events = events;
    const way: Way = !origin.isTls ? "plain" : shared.encryption.isFor(origin) ? "encrypted here" : "encrypted by Node";
    this.#way = way;
    this.#socket = this.#open(way);
    this.#tap = this.#tapOf(way);
  }

  get tap(): Tap {
    return this.#tap;
  }

  /** Address of the other side; null before it is connected, and behind a proxy. */
  get address(): string | null {
    return this.#address;
  }

  /** Null with TLS by Node, and before the channel is ready. */
  get direct(): DirectSocket | null {
    return this.#direct;
  }

  /** Whether no unrequested bytes have left the kernel, where no event would report them. */
  get isQuiet(): boolean {
    if (this.#direct?.hasMore !== true) return true;
    try {
      return this.#direct.read(this.#shared.scratch) === null;
    } catch {
      return false;
    }
  }

  /** Takes the bytes that `direct` had no room for, or all bytes without `direct`. */
  get outlet(): Outlet {
    return this.#encrypted?.outlet ?? this.#socket;
  }

  #open(way: Way): Socket {
    const { proxy } = this.#origin;
    if (proxy === null) return this.#openDirectly(way);
    if (proxy.kind !== "https" && way !== "encrypted by Node") return this.#openThrough(proxy, way);
    return isAskedOfProxy(this.#origin) ? this.#openEncryptedProxy(proxy) : this.#openInside(proxy);
  }

  #onread() {
    // All connections read into the same buffer, in which nothing is meant to stay.
    const first = this.#shared.scratch.subarray(0, FIRST_BYTES);
    const opened: { socket: Socket | null } = { socket: null };
    const callback = (count: number): true => {
      if (opened.socket === this.#socket) this.#came(first, count);
      return true;
    };
    return { opened, onread: { buffer: first, callback } };
  }

  #openDirectly(way: Way): Socket {
    const { addressesOf, now, tls, rttEstimator, encryption } = this.#shared;
    let attemptedAt = now();
    const { opened, onread } = this.#onread();
    const origin = way === "encrypted here" ? { ...this.#origin, isTls: false } : this.#origin;
    const attempt =
      addressesOf(this.#origin)?.attempt(() => void (this.#address === null && this.#openElsewhere())) ?? null;
    this.#attempt = attempt;
    let trying: string | null = null;
    const attemptMs = TRIPS_FOR_AN_ADDRESS * (rttEstimator.leastMs() ?? 0);
    const socket: Socket = openSocket(origin, onread, { tls, attempt, attemptMs })
      .on("connectionAttempt", (address: string) => {
        attemptedAt = now();
        trying = address;
        // Prepared while the answer of the other side is on its way.
        if (way === "encrypted here") setImmediate(encryption.prepare);
      })
      .on("connectionAttemptFailed", (address: string) => attempt?.failed(address))
      .on("connectionAttemptTimeout", (address: string) => attempt?.failed(address))
      .on("close", () => {
        if (attempt === this.#attempt && this.#address === null && trying !== null) attempt?.failed(trying);
        attempt?.ended();
      })
      .on("connect", () => {
        rttEstimator.add(now() - attemptedAt);
        this.#address = socket.remoteAddress ?? trying;
        if (this.#address !== null) attempt?.opened(this.#address);
        this.#reached(socket, way);
      })
      .on("secureConnect", () => this.#ready(null));
    opened.socket = socket;
    return this.#watch(socket, (error) => {
      if (!this.#openElsewhere()) this.#events.onBroken(error);
    });
  }

  /**
   * Opens another socket if this one went to an address that the name led to earlier, where another host may be now. Returns
   * whether it did.
   */
  #openElsewhere(): boolean {
    if (this.#isReady || this.#attempt?.isOther() !== true) return false;
    this.#openAnew(this.#way);
    return true;
  }

  #openAnew(way: Way): void {
    const [left, encrypted] = [this.#socket, this.#encrypted];
    this.#encrypted = null;
    this.#address = null;
    this.#way = way;
    this.#socket = this.#open(way);
    this.#tap = this.#tapOf(way);
    left.on("close", () => encrypted?.free()).destroy();
    this.#events.onAnew();
  }

  /**
   * Opens a socket through a proxy whose own connection is not encrypted: after the proxy's handshake it is like any other.
   */
  #openThrough(proxy: Proxy, way: Way): Socket {
    const { opened, onread } = this.#onread();
    const isWhole = isAskedOfProxy(this.#origin);
    const socket: Socket = openToProxy(proxy, onread).on("connect", () => {
      this.#events.onAnew();
      if (isWhole) return this.#reached(socket, way);
      this.#handshake = proxyHandshake(proxy, this.#origin);
      socket.write(this.#handshake.begin());
    });
    opened.socket = socket;
    return this.#watch(socket, (error) => this.#events.onBroken(this.#isReady ? error : tunnelFault(proxy, error)));
  }

  #openEncryptedProxy(proxy: Proxy): Socket {
    const socket = connectProxy(proxy);
    socket
      .once(readyEventOf(proxy), () => this.#ready(null))
      .on("data", (bytes: Buffer) => this.#events.onBytes(bytes));
    return this.#watch(socket, (error) => this.#events.onBroken(this.#isReady ? error : tunnelFault(proxy, error)));
  }

  /** Opens a connection with TLS by Node inside a tunnel of a proxy. */
  #openInside(proxy: Proxy): Socket {
    const { tls, connectMs } = this.#shared;
    const tunnel = openTunnel(proxy, this.#origin, connectMs);
    tunnel.open.then(
      (through) => {
        if (this.#socket !== through) return;
        this.#events.onAnew();
        const inside = encryptInside(this.#origin, through, tls);
        inside.on("secureConnect", () => this.#ready(null)).on("data", (bytes: Buffer) => this.#events.onBytes(bytes));
        this.#socket = this.#watch(inside, (error) => this.#events.onBroken(error));
        this.#tap = this.#tapOf("encrypted by Node");
      },
      (fault: unknown) => this.#events.onBroken(fault),
    );
    // Errors of its socket are reported by `tunnel.open` until then.
    return this.#watch(tunnel.socket, () => undefined);
  }

  #watch(socket: Socket, onError: (error: unknown) => void): Socket {
    return socket
      .on("end", () => {
        if (socket === this.#socket) this.#ended();
      })
      .on("error", (error) => {
        if (socket === this.#socket) onError(error);
      })
      .on("close", () => {
        if (socket === this.#socket) this.#closed();
      });
  }

  #ended(): void {
    const { proxy } = this.#origin;
    if (!this.#isReady && proxy === null && this.#openElsewhere()) return;
    if (this.#isReady || proxy === null) this.#events.onEnded();
    else this.#events.onBroken(tunnelFault(proxy, new Error("it closed the connection")));
  }

  /** Called when the bytes of the socket reach the origin: begins to encrypt, or reports that the channel is ready. */
  #reached(socket: Socket, way: Way): void {
    if (way === "plain") this.#ready(directSocketOf(socket, this.#shared.straight));
    else if (way === "encrypted here") this.#encrypt();
  }

  #takeOfProxy(handshake: ProxyHandshake, bytes: Buffer): void {
    try {
      const next = handshake.take(bytes);
      if (next === "more") return;
      if (next !== "done") return void this.#socket.write(next);
      this.#handshake = null;
      this.#events.onAnew();
      this.#reached(this.#socket, this.#origin.isTls ? "encrypted here" : "plain");
    } catch (fault) {
      this.#events.onBroken(fault);
    }
  }

  #tapOf(way: Way): Tap {
    const tap = new Tap(this.#socket);
    // Only for TLS by Node: resuming a plain socket before it connects would make a later `pause()` ineffective.
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
    else if (outcome === "failed" && !this.#openElsewhere()) {
      this.#shared.encryption.leaveToNode(this.#origin);
      this.#openAnew("encrypted by Node");
    }
  }

  #came(first: Buffer, count: number): void {
    const bytes = first.subarray(0, count);
    if (this.#handshake !== null) return this.#takeOfProxy(this.#handshake, Buffer.from(bytes));
    const encrypted = this.#encrypted;
    if (encrypted === null) this.#events.onBytes(bytes);
    else if (!this.#isReady) this.#shake(bytes);
    else this.#decrypt(encrypted, bytes);
    if (count === first.length && this.#direct !== null) this.#events.onMore();
  }

  #decrypt(encrypted: EncryptedSocket, bytes: Buffer): void {
    // At the end of the scratch buffer, as far from the encrypted bytes as possible.
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

  /** Called when a request has ended and the connection stays open. */
  rest(): void {
    this.#encrypted?.rest();
  }

  /** Closes the socket. `isReset`: what the kernel still holds is not sent any more, which TLS sockets of Node cannot do. */
  close({ isReset }: { isReset: boolean }): void {
    const isByNode = this.#origin.isTls && this.#encrypted === null;
    const isOverTls = this.#origin.proxy?.kind === "https";
    if (isReset && !isByNode && !isOverTls) this.#socket.resetAndDestroy();
    else this.#socket.destroy();
  }
}
