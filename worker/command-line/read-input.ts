import { fstatSync, read } from "node:fs";
import { Socket } from "node:net";
import { isatty } from "node:tty";

/** Input that can be read once, in order. */
export interface Input extends AsyncIterable<Buffer> {
  readonly isTTY?: boolean;
  /** Stops reading; a pending iteration ends. */
  destroy(): void;
}

/** Default capacity of a pipe on Linux, so one read returns no more. */
const PIPE_BYTES = 64 * 1024;
const FILE_BYTES = 256 * 1024;

/**
 * Opens a file descriptor (pipe, file or device) for reading. Each chunk is valid only until the next is requested, because
 * one buffer is reused. Node's streams allocate each chunk, which at the speed of a pipe costs 100 MB of memory and more.
 * The iteration throws system errors unchanged.
 */
export function openInput(fd: number): Input {
  const isTTY = isatty(fd);
  const stats = fstatSync(fd);
  return stats.isFIFO() || stats.isSocket() ? readPipe(fd) : { ...readFile(fd), isTTY };
}

function readPipe(fd: number): Input {
  /** Bytes in `memory` that the iteration has not yielded yet. */
  let came = 0;
  let [isOver, fault]: [boolean, Error | null] = [false, null];
  let tell = (): void => undefined;
  const memory = Buffer.allocUnsafeSlow(PIPE_BYTES);
  const socket = new Socket({
    fd,
    writable: false,
    onread: {
      buffer: memory,
      // Returning false pauses the socket until `resume()`.
      callback: (bytes) => {
        came = bytes;
        tell();
        return false;
      },
    },
  });
  const end = (error?: Error) => {
    isOver = true;
    fault ??= error ?? null;
    tell();
  };
  socket.on("end", () => end());
  socket.on("close", () => end());
  socket.on("error", end);
  const more = () =>
    new Promise<void>((resolve) => {
      tell = resolve;
      socket.resume();
    });
  return {
    destroy: () => void socket.destroy(),
    async *[Symbol.asyncIterator]() {
      for (;;) {
        if (came === 0 && !isOver) await more();
        if (fault !== null) throw fault;
        if (came === 0) return;
        yield memory.subarray(0, came);
        came = 0;
      }
    },
  };
}

function readFile(fd: number): Input {
  const ended = new AbortController();
  const memory = Buffer.allocUnsafeSlow(FILE_BYTES);
  const fill = () =>
    new Promise<number>((resolve, reject) => {
      read(fd, memory, 0, FILE_BYTES, null, (error, bytes) => (error === null ? resolve(bytes) : reject(error)));
    });
  return {
    destroy: () => ended.abort(),
    async *[Symbol.asyncIterator]() {
      while (!ended.signal.aborted) {
        const bytes = await fill();
        if (bytes === 0) return;
        yield memory.subarray(0, bytes);
      }
    },
  };
}
