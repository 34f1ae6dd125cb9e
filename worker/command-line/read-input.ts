import { fstatSync, read } from "node:fs";
import { Socket } from "node:net";
import { isatty } from "node:tty";

/** What can be read once, in its order. */
export interface Input extends AsyncIterable<Buffer> {
  readonly isTTY?: boolean;
  /** Nothing more is wanted: whoever waits for more is told that it ended. */
  destroy(): void;
}

/** A pipe gives no more at a time. */
const PIPE_BYTES = 64 * 1024;
const FILE_BYTES = 256 * 1024;

/**
 * What stands behind a file descriptor: a pipe, a file, a device. Each chunk is valid until the next is asked for, because its
 * memory is used again: the streams of Node make new memory for each, which at the speed of a pipe is felt as 100 MB and more.
 * Faults of the system come out of the iteration as they are.
 */
export function openInput(fd: number): Input {
  const isTTY = isatty(fd);
  const stats = fstatSync(fd);
  return stats.isFIFO() || stats.isSocket() ? readPipe(fd) : { ...readFile(fd), isTTY };
}

function readPipe(fd: number): Input {
  /** Bytes that came and were not taken. */
  let came = 0;
  let [isOver, fault]: [boolean, Error | null] = [false, null];
  let tell = (): void => undefined;
  const memory = Buffer.allocUnsafeSlow(PIPE_BYTES);
  const socket = new Socket({
    fd,
    writable: false,
    onread: {
      buffer: memory,
      // False: nothing more before it is asked for.
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
