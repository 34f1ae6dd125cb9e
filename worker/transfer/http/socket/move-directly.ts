import { readSync, writeSync } from "node:fs";
import type { Socket } from "node:net";
import { constants } from "node:os";
import { getSystemErrorName } from "node:util";
import { codeOf } from "#worker/base/disk-fault.ts";
import type { InputWatch } from "./input-watch.ts";
import type { Reader, TickReader } from "./read-at-ticks.ts";
import type { RoomWatch } from "./room-watch.ts";
import type { PacedSocket } from "../exchange.ts";
import type { FileSlice, SystemCalls } from "#worker/base/system-calls.ts";

/**
 * Moves bytes between our buffers and a TCP socket by one system call each, bypassing Node's streams: a socket that is read
 * at ticks need not be watched in between. Node still owns the socket, and may read by itself into a buffer that nobody
 * keeps. Nothing is written here while writes of Node's own wait.
 */
export interface DirectSocket {
  /**
   * Returns how many of `bytes` the kernel took at once. 0: none now, or never again. The rest must then be written to the
   * socket itself, which reports errors.
   */
  write(bytes: Buffer): number;
  /**
   * Returns how many bytes came into `into`. 0: the other side sends no more; null: nothing is there now. Throws the system's
   * error when the connection is broken.
   */
  read(into: Buffer): number | null;
  /**
   * Whether the last read ended because `into` was full: further bytes may have left the kernel, so no event reports them.
   */
  readonly hasMore: boolean;
  /** Returns whether a read is worthwhile. Asked for many sockets at a time, it costs less than failing reads. */
  hasInput(): boolean;
  /** Whether `hasInput` can tell that. */
  readonly isWatched: boolean;
  /** Lets `reader` read at ticks when there is something. Returns false when that cannot be told. */
  expect(reader: Reader): boolean;
  /** Ends what `expect` began. */
  forget(): void;
  /**
   * Sends bytes of an open file. Returns how many the kernel had room for. "full": none now; "failed": not possible, or not
   * now.
   */
  sendFile(from: FileSlice): number | "full" | "failed";
  /** Null: bytes are sent as they are given. */
  readonly encrypter: Encrypter | null;
  /** Calls `goOn` once when there is room again. Returns false when that cannot be told. */
  whenRoom(goOn: () => void): boolean;
  /** Cancels `whenRoom`. */
  forgetRoom(goOn: () => void): void;
  /** Returns the interface for the sending rate; null where the system has none. */
  paced(): PacedSocket | null;
}

/** Encrypts ahead of the kernel, so that the kernel can take much at a time. */
export interface Encrypter {
  /** Encrypts as many of `bytes` as there is room for, and returns how many. The next `flush` sends them. */
  encrypt(bytes: Buffer): number;
  /** Gives the kernel what it has room for; the rest follows by itself. The socket reports a broken connection. */
  flush(): void;
  /** Bytes that are encrypted and not in the kernel yet. */
  readonly pendingBytes: number;
}

/** Native calls between files, buffers and sockets, and the watches that tell when sockets have room or input. */
export interface Straight {
  calls: SystemCalls;
  rooms: RoomWatch;
  inputs: InputWatch;
  ticks: TickReader;
}

const hasDescriptor = (handle: unknown): handle is { fd: number } =>
  typeof handle === "object" && handle !== null && "fd" in handle && typeof handle.fd === "number";

function readByNode(fd: number, into: Buffer): number | null {
  // EAGAIN is thrown a thousand times a second: without a stack trace that is cheaper.
  const { stackTraceLimit } = Error;
  Error.stackTraceLimit = 0;
  try {
    return readSync(fd, into);
  } catch (error) {
    if (codeOf(error) === "EAGAIN") return null;
    throw error;
  } finally {
    Error.stackTraceLimit = stackTraceLimit;
  }
}

/**
 * Returns a function that tells the descriptor of a socket; null where a socket has none. It must be called each time,
 * because a closed descriptor may belong to another file by now. It returns less than 0 once the socket is destroyed.
 */
export function descriptorOf(socket: Socket): (() => number) | null {
  const handle: unknown = Reflect.get(socket, "_handle");
  return hasDescriptor(handle) ? () => handle.fd : null;
}

/** Returns the error of a system call that failed. */
export function systemError(call: string, negativeErrno: number): Error {
  const code = getSystemErrorName(negativeErrno);
  return Object.assign(new Error(`${call} ${code}`), { code });
}

/**
 * Returns the direct socket; null where a socket has no descriptor. Not for TLS by Node: its descriptor carries encrypted
 * bytes.
 */
export function directSocketOf(socket: Socket, straight: () => Straight | null): DirectSocket | null {
  const descriptor = descriptorOf(socket);
  if (descriptor === null) return null;
  let isInputWatched = false;
  let isRoomWatched = false;
  /** Kept, because a closed socket does not tell its descriptor any more. */
  let expectedFd = -1;
  return {
    write: (bytes) => {
      const fd = descriptor();
      if (fd < 0 || socket.writableLength > 0) return 0;
      try {
        return writeSync(fd, bytes);
      } catch {
        return 0;
      }
    },
    read: (into) => {
      const fd = descriptor();
      if (fd < 0) return null;
      const calls = straight()?.calls;
      if (calls === undefined) return readByNode(fd, into);
      const came = calls.receive(fd, into);
      if (came >= 0) return came;
      if (came === -constants.errno.EAGAIN) return null;
      throw systemError("recv", came);
    },
    hasMore: false,
    encrypter: null,
    hasInput: () => {
      const inputs = straight()?.inputs;
      const fd = descriptor();
      if (fd < 0 || inputs === undefined) return true;
      if (isInputWatched) return inputs.hasInput(fd);
      isInputWatched = inputs.add(fd);
      return true;
    },
    get isWatched() {
      return straight() !== null;
    },
    expect: (reader) => {
      const found = straight();
      const fd = descriptor();
      if (fd < 0 || found === null) return false;
      isInputWatched ||= found.inputs.add(fd);
      if (!isInputWatched) return false;
      expectedFd = fd;
      found.ticks.expect(fd, reader);
      return true;
    },
    forget: () => {
      if (expectedFd >= 0) straight()?.ticks.forget(expectedFd);
      expectedFd = -1;
    },
    sendFile: (from) => {
      const fd = descriptor();
      if (fd < 0 || socket.writableLength > 0) return "failed";
      return straight()?.calls.sendFile(fd, from) ?? "failed";
    },
    whenRoom: (goOn) => {
      const rooms = straight()?.rooms;
      const fd = descriptor();
      if (fd < 0 || rooms === undefined) return false;
      isRoomWatched ||= rooms.add(fd);
      return isRoomWatched && rooms.wait(fd, goOn);
    },
    forgetRoom: (goOn) => straight()?.rooms.forget(goOn),
    paced: () => {
      const calls = straight()?.calls;
      if (calls === undefined) return null;
      return {
        pace: (bytesPerSecond) => {
          const fd = descriptor();
          const isTold = fd >= 0 && calls.pace(fd, bytesPerSecond);
          if (isTold) straight()?.rooms.paced(fd, bytesPerSecond < Infinity);
          return isTold;
        },
        tcpInfo: () => {
          const fd = descriptor();
          return fd < 0 ? null : calls.tcpInfo(fd);
        },
      };
    },
  };
}
