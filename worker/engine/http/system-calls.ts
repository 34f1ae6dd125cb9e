import { constants } from "node:os";
import { loadKoffi, type Koffi } from "./load-koffi.ts";

/**
 * What Linux can do and Node does not pass on, called as functions of the C library that Node itself is linked with: bytes
 * of a file go to a socket without being copied to us and back, and one question tells which of many sockets have room
 * again. Every answer that is not plain success is left to Node's own ways, which know what went wrong.
 */
export interface SystemCalls {
  /**
   * Bytes of an open file into an open socket that does not wait. Returns how many the kernel had room for. "full": none now.
   * "failed": anything else, the end of the file included; nothing was sent.
   */
  sendFile(socketFd: number, from: FileSlice): number | "full" | "failed";
  openRooms(): Rooms | null;
  /** From now on a TCP socket sends no faster than that, evenly. Infinity: as fast as it can. False: this system cannot. */
  pace(socketFd: number, bytesPerSecond: number): boolean;
  /** Null: it cannot be told. */
  told(socketFd: number): Told | null;
}

/** What a TCP socket has seen. */
export interface Told {
  /** Bytes of all requests that the other side has acknowledged. */
  ackedBytes: number;
  /** Of late, and the least one: of packets with data, that is, which their receiver may keep for a moment. */
  rttMs: number;
  leastRttMs: number;
}

export interface FileSlice {
  fd: number;
  offset: number;
  bytes: number;
}

/** Sockets that are full. */
export interface Rooms {
  /** It is told once, as soon as it has room again. False: it cannot be watched. */
  add(socketFd: number): boolean;
  /** Those of whom it is to be told now. Never waits. */
  take(): number[];
  /** Nothing is watched any more. */
  close(): void;
}

/** From `sys/epoll.h` and `fcntl.h`: the same on all processors. */
const EPOLL_CTL_ADD = 1;
const EPOLL_CTL_MOD = 3;
const EPOLLOUT = 0x4;
const EPOLLONESHOT = 0x4000_0000;
const EPOLL_CLOEXEC = 0o2000000;
/** `struct epoll_event` is packed on x86-64 only. */
const EVENT = process.arch === "x64" ? { bytes: 12, dataAt: 4 } : { bytes: 16, dataAt: 8 };
const MOST_EVENTS = 96;

/** From `sys/socket.h` and `netinet/tcp.h`. */
const SOL_SOCKET = 1;
const SO_MAX_PACING_RATE = 47;
const IPPROTO_TCP = 6;
const TCP_INFO = 11;
/** In `struct tcp_info`, which only ever grows at its end. */
const INFO = { rttMicrosAt: 68, ackedAt: 120, leastRttMicrosAt: 148, leastBytes: 152 };

let found: SystemCalls | null | undefined;

/** Null where they cannot be had: on another system, or from a worker that does not carry what makes them. */
export function systemCalls(): SystemCalls | null {
  found ??= process.platform === "linux" ? callsBy(loadKoffi()) : null;
  return found;
}

function callsBy(koffi: Koffi | null): SystemCalls | null {
  if (koffi === null) return null;
  const library = koffi.load(null);
  const sendfile = library.func("sendfile", "int64", ["int", "int", "void *", "uint64"]);
  const create = library.func("epoll_create1", "int", ["int"]);
  const control = library.func("epoll_ctl", "int", ["int", "int", "int", "void *"]);
  const wait = library.func("epoll_wait", "int", ["int", "void *", "int", "int"]);
  const close = library.func("close", "int", ["int"]);
  const setsockopt = library.func("setsockopt", "int", ["int", "int", "int", "void *", "uint32"]);
  const getsockopt = library.func("getsockopt", "int", ["int", "int", "int", "void *", "void *"]);
  const at = Buffer.alloc(8);
  const rate = Buffer.alloc(8);
  const info = Buffer.alloc(INFO.leastBytes);
  const infoBytes = Buffer.alloc(4);
  return {
    pace: (socketFd, bytesPerSecond) => {
      rate.writeBigUInt64LE(bytesPerSecond === Infinity ? 2n ** 64n - 1n : BigInt(Math.ceil(bytesPerSecond)));
      return setsockopt(socketFd, SOL_SOCKET, SO_MAX_PACING_RATE, rate, rate.length) === 0;
    },
    told: (socketFd) => {
      infoBytes.writeUInt32LE(info.length);
      const isTold = getsockopt(socketFd, IPPROTO_TCP, TCP_INFO, info, infoBytes) === 0;
      if (!isTold || infoBytes.readUInt32LE() < INFO.leastBytes) return null;
      return {
        ackedBytes: Number(info.readBigUInt64LE(INFO.ackedAt)),
        rttMs: info.readUInt32LE(INFO.rttMicrosAt) / 1000,
        leastRttMs: info.readUInt32LE(INFO.leastRttMicrosAt) / 1000,
      };
    },
    sendFile: (socketFd, { fd, offset, bytes }) => {
      at.writeBigUInt64LE(BigInt(offset));
      const took = sendfile(socketFd, fd, at, bytes);
      if (took > 0) return took;
      return took < 0 && koffi.errno() === constants.errno.EAGAIN ? "full" : "failed";
    },
    openRooms: () => {
      const epoll = create(EPOLL_CLOEXEC);
      if (epoll < 0) return null;
      const wish = Buffer.alloc(EVENT.bytes);
      wish.writeUInt32LE(EPOLLOUT + EPOLLONESHOT, 0);
      const events = Buffer.alloc(EVENT.bytes * MOST_EVENTS);
      return {
        close: () => void close(epoll),
        add: (socketFd) => {
          wish.writeInt32LE(socketFd, EVENT.dataAt);
          // A number that was closed and given again is a new one to the kernel.
          return (
            control(epoll, EPOLL_CTL_MOD, socketFd, wish) === 0 || control(epoll, EPOLL_CTL_ADD, socketFd, wish) === 0
          );
        },
        take: () => {
          const count = Math.max(0, wait(epoll, events, MOST_EVENTS, 0));
          return Array.from({ length: count }, (_, index) => events.readInt32LE(index * EVENT.bytes + EVENT.dataAt));
        },
      };
    },
  };
}
