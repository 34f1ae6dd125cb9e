import type { SignedRequest } from "#protocol/wire/operations.ts";
import { Fault } from "#protocol/faults/fault.ts";
import type { HttpAnswer } from "#storage/s3/answers.ts";
import type { Target } from "./socket/open-socket.ts";
import type { Told } from "#worker/base/system-calls.ts";

/** One request and what becomes of its answer, as the callers of the wire describe it. */
export interface Exchange {
  request: SignedRequest;
  op: string;
  /** A key; never the URL. */
  subject: string;
  signal: AbortSignal;
  body?: Buffer | HeldBody | UploadBody | undefined;
  headers?: Record<string, string> | undefined;
  /** Called when it goes out a second time, on a new connection: the first may have arrived all the same. */
  onAgain?: (() => void) | undefined;
  /** Given how to end this exchange alone, where a signal of its own would cost more than that. */
  onBegun?: ((end: (fault: Fault) => void) => void) | undefined;
}

/** So much of it is free for the head. */
export const HEAD_ROOM_BYTES = 8 * 1024;

/**
 * A small body that is in memory already, with room for the head before it: both go out in one piece, and no byte is copied. Nobody
 * else touches the memory before all exchanges that were given it are over, and after one that failed nobody does: a socket may
 * still hold it. Several exchanges of the same body may share it.
 */
export class HeldBody {
  /** The body stands in it from `HEAD_ROOM_BYTES` on. */
  readonly memory: Buffer;
  readonly lengthBytes: number;
  /** As those of an `UploadBody`. */
  readonly sent: (bytes: number) => void;
  readonly bytesPerSecond: () => number;

  constructor(memory: Buffer, about: Pick<HeldBody, "lengthBytes" | "sent" | "bytesPerSecond">) {
    this.memory = memory;
    this.lengthBytes = about.lengthBytes;
    this.sent = about.sent;
    this.bytesPerSecond = about.bytesPerSecond;
  }

  /** The body alone. */
  get bytes(): Buffer {
    return this.memory.subarray(HEAD_ROOM_BYTES, HEAD_ROOM_BYTES + this.lengthBytes);
  }
}

export interface UploadBody {
  lengthBytes: number;
  /**
   * Fills `into` with the bytes at `at` of the body, at most `into.length`; returns how many (more than 0). Positional, so
   * that the wire may start over on another connection. Time spent here is not silence of the network.
   * `arePassed`: the file has let so many pass already.
   */
  read(into: Buffer, at: number, arePassed: boolean): number | Promise<number>;
  /**
   * How many of `bytes` may be read now, where that is not always all of them. 0: none yet; then `goOn` is called, once, when it
   * is worth to ask again. Time until then is not silence of the network either.
   */
  allow?(bytes: number, goOn: () => void): number;
  /** Where the bytes lie as they are sent, when they do: then they may go from there to the socket, and not be read. */
  file?: FileBody;
  /**
   * It begins to go out by this one; again when it starts over. Not called where sockets cannot be told how fast. True: the
   * socket keeps to a rate by itself, so that `allow` need not be asked.
   */
  begins?(socket: PacedSocket): boolean;
  /** Bytes now in the kernel's hands; negative when the wire starts over. */
  sent(bytes: number): void;
  /** Present rate of one connection, to judge how long the last bytes may stay in the kernel's buffers. */
  bytesPerSecond(): number;
}

/** A socket that can be told how fast to send, and asked what has become of it. */
export interface PacedSocket {
  /** Until told otherwise. Infinity: as fast as it can. False: it cannot be told that. */
  pace(bytesPerSecond: number): boolean;
  /** Null when it cannot be told any more. */
  told(): Told | null;
}

export interface FileBody {
  fd: number;
  /** Of the body's first byte. */
  offset: number;
  /** How many of `bytes` may go; at least one. What `read` waits for, too. */
  pass(bytes: number): number | Promise<number>;
  /** How many of them may go without waiting; none perhaps. */
  passNow(bytes: number): number;
}

export interface Sink {
  /** Before any byte; throws a Fault when the answer is not the wanted one. */
  head(answer: HttpAnswer): void;
  /**
   * The chunk is only valid during the call, unless it lies in `into`. A promise pauses reading (and the watchdog) until it resolves.
   * "enough": the rest is not wanted; the connection is dropped and the fetch resolves.
   */
  bytes(chunk: Buffer): void | Promise<void> | "enough";
  /**
   * For a small body: where it goes when it is shorter than this and its head tells its length. Then no byte is copied on the
   * way, and where the store is far it is read together with those of others.
   */
  readonly into?: Buffer;
}

/** Operation and subject that a fault names. */
export type About = Pick<Exchange, "op" | "subject">;

const TOKEN = /^[!#$%&'*+\-.^_`|~0-9A-Za-z]+$/;
const VALUE = /^[\t\x20-\x7e\x80-\xff]*$/;
/** Headers that only the client itself sets. */
const OURS: ReadonlySet<string> = new Set(["host", "content-length", "connection", "transfer-encoding", "expect"]);

/** Length of a body in bytes; null without one. */
export function lengthOf(body: Exchange["body"]): number | null {
  if (body === undefined) return null;
  return Buffer.isBuffer(body) ? body.length : body.lengthBytes;
}

/** The head of a request. Faults: BAD_INPUT for a header that could not be sent as it is. */
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
