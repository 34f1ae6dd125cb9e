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
 * Bytes between our buffers and a TCP socket by one system call each, past the streams of Node: a socket
 * that is read at ticks need not be watched in between. The socket stays Node's, and may go on reading by itself as long as it
 * does so into a buffer that nobody keeps; nothing is written here while writes of its own wait.
 */
export interface DirectSocket {
  /**
   * How many of `bytes` the kernel took at once. 0: none now, or never again; what is wrong then the socket itself tells,
   * to whom the rest is given.
   */
  write(bytes: Buffer): number;
  /**
   * How many bytes came into `into`. 0: the other side sends no more; null: nothing is there now. Throws the system's error
   * when the connection is broken.
   */
  read(into: Buffer): number | null;
  /** The last read ended because `into` was full: what is still to come may have left the kernel, so that nothing tells of it. */
  readonly hasMore: boolean;
  /** Whether a read is worth while. Asked now and then, for many sockets at a time, it costs less than a read in vain. */
  hasInput(): boolean;
  /** Somebody can tell whether it is. */
  readonly isWatched: boolean;
  /** From now on `reader` is asked to read at ticks when that is worth while. False: nobody can tell. */
  expect(reader: Reader): boolean;
  /** It is not asked any more. */
  forget(): void;
  /**
   * Bytes of an open file. `took`: how many the kernel had room for. "full": none now; "failed": this way does not go, or not
   * now.
   */
  sendFile(from: FileSlice): number | "full" | "failed";
  /** Null: bytes leave as they are given. */
  readonly encrypter: Encrypter | null;
  /** `goOn` is called once, when there is room again. False: nobody can tell. */
  whenRoom(goOn: () => void): boolean;
  /** It is not called any more. */
  forgetRoom(goOn: () => void): void;
  /** Null where the system cannot do that. */
  paced(): PacedSocket | null;
}

/** Encrypts ahead of the kernel, so that it takes much at a time. */
export interface Encrypter {
  /** Encrypts as many of `bytes` as there is room for, and returns how many. They go out with the next `flush`. */
  encrypt(bytes: Buffer): number;
  /** Gives the kernel what it has room for; the rest follows by itself. A broken connection is told by the socket. */
  flush(): void;
  /** Encrypted, and not in the kernel yet. */
  readonly pendingBytes: number;
}

/** What goes straight between files, buffers and sockets, and who looks when sockets have room or bytes. */
export interface Straight {
  calls: SystemCalls;
  rooms: RoomWatch;
  inputs: InputWatch;
  ticks: TickReader;
}

const hasDescriptor = (handle: unknown): handle is { fd: number } =>
  typeof handle === "object" && handle !== null && "fd" in handle && typeof handle.fd === "number";

function readByNode(fd: number, into: Buffer): number | null {
  // "Nothing yet" comes as an error, a thousand times a second: it need not tell where it was made.
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
 * The number of its descriptor, to be asked for each time: that of a closed one may belong to another file by now. Less than 0 as soon
 * as it is destroyed. Null where a socket has none to show.
 */
export function descriptorOf(socket: Socket): (() => number) | null {
  const handle: unknown = Reflect.get(socket, "_handle");
  return hasDescriptor(handle) ? () => handle.fd : null;
}

/** The error of a call to the system that failed. */
export function systemError(call: string, negativeErrno: number): Error {
  const code = getSystemErrorName(negativeErrno);
  return Object.assign(new Error(`${call} ${code}`), { code });
}

/** Null where a socket has no descriptor to show. Not for TLS by Node: what its descriptor carries is not what it means. */
export function directSocketOf(socket: Socket, straight: () => Straight | null): DirectSocket | null {
  const descriptor = descriptorOf(socket);
  if (descriptor === null) return null;
  let isInputWatched = false;
  let isRoomWatched = false;
  /** Known when it is closed, too. */
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
        told: () => {
          const fd = descriptor();
          return fd < 0 ? null : calls.told(fd);
        },
      };
    },
  };
}
