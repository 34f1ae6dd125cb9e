import { constants } from "node:os";
import { KOFFI, loadNative } from "./load-native.ts";

/**
 * Linux calls that Node does not offer, made through the C library that Node itself is linked with. `sendfile` moves bytes of a
 * file to a socket without a copy, and one `epoll` call tells which of many sockets have room again. Every result but plain
 * success is left to Node's own functions, which know what went wrong.
 */
export interface SystemCalls {
  /**
   * Sends bytes of an open file into a non-blocking socket. Returns how many the kernel had room for. "full": none now.
   * "failed": anything else, the end of the file included; nothing was sent.
   */
  sendFile(socketFd: number, from: FileSlice): number | "full" | "failed";
  /** Returns how many bytes came into `into`; 0: the peer sends no more; negative: the system's error number. */
  receive(socketFd: number, into: Buffer): number;
  /** Watches sockets that are written to: reports one while at least a third of its send buffer is free. */
  watchRoom(): SocketWatch | null;
  /** Watches sockets that are read from: reports one while there is something to read, or nothing more will come. */
  watchInput(): SocketWatch | null;
  /** Paces a TCP socket evenly at that rate. Infinity: as fast as it can. Returns false when this system cannot. */
  pace(socketFd: number, bytesPerSecond: number): boolean;
  /** Returns what a TCP socket has measured; null when that cannot be read. */
  tcpInfo(socketFd: number): TcpInfo | null;
  /**
   * Removes pages of a mapped file from resident memory; the next use reads them from the file. Changes to the pages would be
   * lost. Returns false when they stayed.
   */
  dropPages(pages: { address: number; bytes: number }): boolean;
}

/** Measurements of a TCP socket (`TCP_INFO`). */
export interface TcpInfo {
  /** Bytes of all requests that the peer has acknowledged. */
  ackedBytes: number;
  /** Recent RTT, and the least one below. Both are of packets with data, whose acknowledgment the receiver may delay. */
  rttMs: number;
  leastRttMs: number;
}

/** Part of Koffi that is used; it calls functions of C libraries: https://koffi.dev. */
export interface Koffi {
  /** Loads the libraries that the process itself is linked with. */
  load(path: null): Library;
  /** Returns the error number of the last call. */
  errno(): number;
}

interface Library {
  func(name: string, result: string, parameters: readonly string[]): Foreign;
}
export type Foreign = (...values: readonly (number | bigint | Buffer | null)[]) => number;

export interface FileSlice {
  fd: number;
  offset: number;
  bytes: number;
}

export interface SocketWatch {
  /** Watches a socket; call it once each. False: it cannot be watched. Closing a socket ends its watch. */
  add(socketFd: number): boolean;
  /** Returns the sockets that are ready now, at most `MOST_TOLD`. Never waits. */
  take(): number[];
  /** Ends all watches. */
  close(): void;
}

/** From `sys/epoll.h` and `fcntl.h`: the same on all processors. */
const EPOLL_CTL_ADD = 1;
const EPOLLIN = 0x1;
const EPOLLOUT = 0x4;
const EPOLL_CLOEXEC = 0o2000000;
/** `struct epoll_event` is packed on x86-64 only. */
const EVENT = process.arch === "x64" ? { bytes: 12, dataAt: 4 } : { bytes: 16, dataAt: 8 };
export const MOST_TOLD = 128;

/** From `sys/socket.h` and `netinet/tcp.h`. */
const SOL_SOCKET = 1;
const SO_MAX_PACING_RATE = 47;
const MSG_DONTWAIT = 0x40;
const IPPROTO_TCP = 6;
const TCP_INFO = 11;
/** From `sys/mman.h`. */
const MADV_DONTNEED = 4;
/** Offsets in `struct tcp_info`, which only ever grows at its end. */
const INFO = { rttMicrosAt: 68, ackedAt: 120, leastRttMicrosAt: 148, leastBytes: 152 };

const HIGH = 2 ** 32;
/** Writes a safe integer as two halves: a BigInt would take as long as the system call that it is for. */
const write64 = (into: Buffer, value: number): void => {
  into.writeUInt32LE(value % HIGH, 0);
  into.writeUInt32LE(Math.floor(value / HIGH), 4);
};
export const read64 = (from: Buffer, at: number): number => from.readUInt32LE(at) + from.readUInt32LE(at + 4) * HIGH;

let found: SystemCalls | null | undefined;

/** Returns null when the calls are missing: on another system, or in a worker without the native module. */
export function systemCalls(): SystemCalls | null {
  found ??= process.platform === "linux" ? callsBy(loadNative(KOFFI) as Koffi | null) : null;
  return found;
}

function callsBy(koffi: Koffi | null): SystemCalls | null {
  if (koffi === null) return null;
  const library = koffi.load(null);
  const sendfile = library.func("sendfile", "int64", ["int", "int", "void *", "uint64"]);
  const create = library.func("epoll_create1", "int", ["int"]);
  const control = library.func("epoll_ctl", "int", ["int", "int", "int", "void *"]);
  const wait = library.func("epoll_wait", "int", ["int", "void *", "int", "int"]);
  const recv = library.func("recv", "int64", ["int", "void *", "size_t", "int"]);
  const close = library.func("close", "int", ["int"]);
  const setsockopt = library.func("setsockopt", "int", ["int", "int", "int", "void *", "uint32"]);
  const getsockopt = library.func("getsockopt", "int", ["int", "int", "int", "void *", "void *"]);
  const madvise = library.func("madvise", "int", ["uintptr_t", "size_t", "int"]);
  const at = Buffer.alloc(8);
  const rate = Buffer.alloc(8);
  const info = Buffer.alloc(INFO.leastBytes);
  const infoBytes = Buffer.alloc(4);
  const watchFor = (happening: number): SocketWatch | null => {
    const epoll = create(EPOLL_CLOEXEC);
    if (epoll < 0) return null;
    const event = Buffer.alloc(EVENT.bytes);
    event.writeUInt32LE(happening, 0);
    const events = Buffer.alloc(EVENT.bytes * MOST_TOLD);
    return {
      close: () => void close(epoll),
      add: (socketFd) => {
        event.writeInt32LE(socketFd, EVENT.dataAt);
        return control(epoll, EPOLL_CTL_ADD, socketFd, event) === 0;
      },
      take: () => {
        const count = Math.max(0, wait(epoll, events, MOST_TOLD, 0));
        return Array.from({ length: count }, (_, index) => events.readInt32LE(index * EVENT.bytes + EVENT.dataAt));
      },
    };
  };
  return {
    pace: (socketFd, bytesPerSecond) => {
      if (bytesPerSecond === Infinity) rate.fill(0xff);
      else write64(rate, Math.ceil(bytesPerSecond));
      return setsockopt(socketFd, SOL_SOCKET, SO_MAX_PACING_RATE, rate, rate.length) === 0;
    },
    tcpInfo: (socketFd) => {
      infoBytes.writeUInt32LE(info.length);
      const isTold = getsockopt(socketFd, IPPROTO_TCP, TCP_INFO, info, infoBytes) === 0;
      if (!isTold || infoBytes.readUInt32LE() < INFO.leastBytes) return null;
      return {
        ackedBytes: read64(info, INFO.ackedAt),
        rttMs: info.readUInt32LE(INFO.rttMicrosAt) / 1000,
        leastRttMs: info.readUInt32LE(INFO.leastRttMicrosAt) / 1000,
      };
    },
    sendFile: (socketFd, { fd, offset, bytes }) => {
      write64(at, offset);
      const took = sendfile(socketFd, fd, at, bytes);
      if (took > 0) return took;
      return took < 0 && koffi.errno() === constants.errno.EAGAIN ? "full" : "failed";
    },
    receive: (socketFd, into) => {
      const came = recv(socketFd, into, into.length, MSG_DONTWAIT);
      return came >= 0 ? came : -koffi.errno();
    },
    dropPages: ({ address, bytes }) => madvise(address, bytes, MADV_DONTNEED) === 0,
    watchRoom: () => watchFor(EPOLLOUT),
    watchInput: () => watchFor(EPOLLIN),
  };
}
