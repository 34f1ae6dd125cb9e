import type { SignedRequest } from "#protocol/wire/operations.ts";
import { Fault } from "#protocol/faults/fault.ts";
import type { HttpAnswer } from "#storage/s3/answers.ts";
import type { Target } from "./socket/open-socket.ts";
import type { TcpInfo } from "#worker/base/system-calls.ts";

/** One request and the handling of its answer, as callers of the HTTP client describe it. */
export interface Exchange {
  request: SignedRequest;
  op: string;
  /** Key of the object, for faults; never the URL. */
  subject: string;
  signal: AbortSignal;
  body?: Buffer | HeldBody | UploadBody | undefined;
  headers?: Record<string, string> | undefined;
  /** Called when the request goes out a second time, on a new connection: the first one may have arrived anyway. */
  onAgain?: (() => void) | undefined;
  /** Called with a function that ends this exchange alone: cheaper than an AbortSignal of its own. */
  onBegun?: ((end: (fault: Fault) => void) => void) | undefined;
}

/** Room for the head of the request before a held body. */
export const HEAD_ROOM_BYTES = 8 * 1024;

/**
 * A small body in memory, with room for the head before it: both are sent in one write, without a copy. Nobody else may touch
 * the memory until all its exchanges have ended. After a failed exchange nobody may touch it at all, because a socket may
 * still hold it. Several exchanges of the same body may share it.
 */
export class HeldBody {
  /** Holds the body from `HEAD_ROOM_BYTES` on. */
  readonly memory: Buffer;
  readonly lengthBytes: number;
  /** Same as in `UploadBody`. */
  readonly sent: (bytes: number) => void;
  readonly bytesPerSecond: () => number;

  constructor(memory: Buffer, about: Pick<HeldBody, "lengthBytes" | "sent" | "bytesPerSecond">) {
    this.memory = memory;
    this.lengthBytes = about.lengthBytes;
    this.sent = about.sent;
    this.bytesPerSecond = about.bytesPerSecond;
  }

  /** The body without the room before it. */
  get bytes(): Buffer {
    return this.memory.subarray(HEAD_ROOM_BYTES, HEAD_ROOM_BYTES + this.lengthBytes);
  }
}

export interface UploadBody {
  lengthBytes: number;
  /**
   * Fills `into` with the bytes at `at` of the body, at most `into.length`; returns how many (more than 0). Positional, so
   * that the client may start over on another connection. Time spent here is not silence of the network. `arePassed`: `file`
   * has let this many bytes pass already.
   */
  read(into: Buffer, at: number, arePassed: boolean): number | Promise<number>;
  /**
   * Returns how many of `bytes` may be read now; omitted where always all may. 0: none yet; then `goOn` is called, once, when
   * asking again is worthwhile. Time until then is not silence of the network either.
   */
  allow?(bytes: number, goOn: () => void): number;
  /**
   * Place of the bytes in a file, if they are sent unchanged: they may then go from there to the socket without being read.
   */
  file?: FileBody;
  /**
   * Called with the socket that sends the body, again when it starts over; not called where the rate of sockets cannot be
   * set. Returns true if the socket keeps to a rate by itself, so that `allow` need not be asked.
   */
  begins?(socket: PacedSocket): boolean;
  /** Counts bytes that the kernel has taken; negative when the client starts over. */
  sent(bytes: number): void;
  /** Returns the present rate of one connection, to judge how long the last bytes may stay in the kernel's buffers. */
  bytesPerSecond(): number;
}

/** A socket whose sending rate can be set (SO_MAX_PACING_RATE) and whose TCP statistics can be read. */
export interface PacedSocket {
  /** Sets the rate; Infinity: no limit. Returns false when it cannot be set. */
  pace(bytesPerSecond: number): boolean;
  /** Returns the TCP statistics; null when they cannot be read any more. */
  tcpInfo(): TcpInfo | null;
}

export interface FileBody {
  fd: number;
  /** Offset of the body's first byte in the file. */
  offset: number;
  /** Returns how many of `bytes` may be sent, at least one; waits for the same limit as `read`. */
  pass(bytes: number): number | Promise<number>;
  /** Returns how many of `bytes` may be sent without waiting; perhaps none. */
  passNow(bytes: number): number;
}

export interface Sink {
  /** Called before any byte; throws a Fault when the answer is not the wanted one. */
  head(answer: HttpAnswer): void;
  /**
   * Takes a chunk, which is only valid during the call unless it lies in `into`. A promise pauses reading (and the stall
   * timeout) until it resolves. "enough": the rest is not wanted; the connection is dropped and the fetch resolves.
   */
  bytes(chunk: Buffer): void | Promise<void> | "enough";
  /**
   * Memory for a small body, used when the head tells a length below that of `into`. Then no byte is copied on the way, and
   * from a far store the body is read together with those of other requests.
   */
  readonly into?: Buffer;
}

/** Operation and subject that a fault names. */
export type About = Pick<Exchange, "op" | "subject">;

const TOKEN = /^[!#$%&'*+\-.^_`|~0-9A-Za-z]+$/;
const VALUE = /^[\t\x20-\x7e\x80-\xff]*$/;
/** Headers that only the client itself sets. */
const OURS: ReadonlySet<string> = new Set(["host", "content-length", "connection", "transfer-encoding", "expect"]);

/** Returns the length of a body in bytes; null without one. */
export function lengthOf(body: Exchange["body"]): number | null {
  if (body === undefined) return null;
  return Buffer.isBuffer(body) ? body.length : body.lengthBytes;
}

/** Returns the head of a request. Faults: BAD_INPUT for a header that could not be sent as it is. */
export function writeHead(
  { request, body, headers, op, subject }: Exchange,
  { host, path, proxyLines }: Target,
): string {
  const { method } = request;
  let head = `${method} ${path} HTTP/1.1\r\nhost: ${host}\r\n${proxyLines}`;
  const all = headers === undefined ? request.headers : { ...request.headers, ...headers };
  for (const [name, value] of Object.entries(all)) {
    if (!TOKEN.test(name) || !VALUE.test(value)) {
      const detail = "a request header has characters that HTTP cannot carry";
      throw new Fault("BAD_INPUT", { op, subject, detail });
    }
    if (!OURS.has(name.toLowerCase())) head += `${name}: ${value}\r\n`;
  }
  const length = lengthOf(body) ?? (method === "PUT" || method === "POST" ? 0 : null);
  return length === null ? `${head}\r\n` : `${head}content-length: ${length}\r\n\r\n`;
}
