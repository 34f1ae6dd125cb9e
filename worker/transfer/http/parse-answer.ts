import { Fault } from "#protocol/faults/fault.ts";

/**
 * The head of an HTTP/1.1 answer (RFC 9112), read strictly. An ambiguous answer is refused, because bytes of one answer taken
 * for the next one would end up in a file. The limits exist because the other side may be anybody.
 */
export interface AnswerHead {
  status: number;
  /** Lower-case names; repeated ones joined with ", ". */
  headers: Record<string, string>;
  isHttp10: boolean;
}

/** How the end of an answer's body is found. */
export type Framing = { kind: "none" } | { kind: "length"; bytes: number } | { kind: "chunked" } | { kind: "close" };

const MOST_HEAD_BYTES = 64 * 1024;
const MOST_HEADERS = 200;
const START = "HTTP/1.";
const STATUS_LINE = /^HTTP\/1\.([01]) ([1-9]\d\d)(?: [\t\x20-\x7e\x80-\xff]*)?$/;
const TOKEN = /^[!#$%&'*+\-.^_`|~0-9A-Za-z]+$/;
/** Characters that no head may hold: control characters, and a CR or LF alone. */
const FORBIDDEN = /[\0-\x08\x0b\x0c\x0e-\x1f\x7f]|\r(?!\n)|(?<!\r)\n/;
const LENGTH = /^\d{1,15}$/;

export const malformed = (detail: string): Fault => new Fault("UNEXPECTED_ANSWER", { detail });

/** Reads one head; interim (1xx) answers before it are skipped. Faults: UNEXPECTED_ANSWER. */
export class HeadReader {
  #kept: Buffer | null = null;
  #skipped = 0;
  /** Whether any byte arrived, of this head or of an interim answer. */
  hasBegun = false;

  /**
   * Takes bytes as they come. Returns the head and how many of these bytes belong to it; null while the head is not complete.
   */
  push(bytes: Buffer): { head: AnswerHead; used: number } | null {
    if (bytes.length > 0) this.hasBegun = true;
    const before = this.#kept?.length ?? 0;
    const all = this.#kept === null ? bytes : Buffer.concat([this.#kept, bytes]);
    for (let from = 0; ;) {
      const end = all.indexOf("\r\n\r\n", from, "latin1");
      if ((end === -1 ? all.length : end) - from + this.#skipped > MOST_HEAD_BYTES) {
        throw malformed("its head is too long");
      }
      if (end === -1) {
        assertBeginning(all.toString("latin1", from));
        this.#kept = Buffer.from(all.subarray(from));
        return null;
      }
      const head = parseHead(all.toString("latin1", from, end));
      this.#skipped += end + 4 - from;
      from = end + 4;
      if (head.status === 101) throw malformed("it changes the protocol");
      if (head.status >= 200) return { head, used: from - before };
    }
  }
}

/** Throws at the first bytes that are not HTTP, and not only when the connection falls silent. */
function assertBeginning(text: string): void {
  const isStart = text.length < START.length ? START.startsWith(text) : text.startsWith(START);
  if (!isStart || /(?:^|[^\r])\n/.test(text)) throw malformed("it is not HTTP/1.1");
}

/**
 * Class of objects without inherited properties. V8 turns `Object.create(null)` into a hash table, which takes longer than
 * the rest of parsing.
 */
const Headers = function () {} as unknown as new () => Record<string, string>;
Headers.prototype = Object.freeze(Object.create(null));

function parseHead(text: string): AnswerHead {
  // Parsed by positions, which is faster: thousands of small objects are as many heads.
  let end = lineEnd(text, 0);
  const found = STATUS_LINE.exec(text.slice(0, end));
  if (found === null) throw malformed("it is not HTTP/1.1");
  if (FORBIDDEN.test(text)) throw malformed("a header is malformed");
  const headers = new Headers();
  for (let count = 1; end < text.length; count++) {
    if (count > MOST_HEADERS) throw malformed("it has too many headers");
    const from = end + 2;
    end = lineEnd(text, from);
    const colon = text.indexOf(":", from);
    const name = nameOf(colon === -1 || colon > end ? "" : text.slice(from, colon));
    const value = trimBlanks(text, colon + 1, end);
    const earlier = headers[name];
    if (name === "content-length") {
      if (!LENGTH.test(value) || (earlier !== undefined && earlier !== value)) throw malformed("its length is unclear");
      headers[name] = value;
    } else headers[name] = earlier === undefined ? value : `${earlier}, ${value}`;
  }
  return { status: Number(found[2]), headers, isHttp10: found[1] === "0" };
}

const MOST_NAMES = 256;
const MOST_NAME_LENGTH = 40;
/** Cache of names: stores use the same few in every answer. */
const names = new Map<string, string>();

/** Returns a header name in lower case. */
function nameOf(text: string): string {
  const known = names.get(text);
  if (known !== undefined) return known;
  if (!TOKEN.test(text)) throw malformed("a header is malformed");
  if (text.length > MOST_NAME_LENGTH) return text.toLowerCase();
  if (names.size >= MOST_NAMES) names.clear();
  // Copied, because a slice would keep the whole head in memory.
  const own = Buffer.from(text, "latin1").toString("latin1");
  const name = own.toLowerCase();
  names.set(own, name);
  return name;
}

function lineEnd(text: string, from: number): number {
  const end = text.indexOf("\r\n", from);
  return end === -1 ? text.length : end;
}

function trimBlanks(text: string, start: number, end: number): string {
  let from = start;
  let to = end;
  while (from < to && isBlank(text.charCodeAt(from))) from++;
  while (to > from && isBlank(text.charCodeAt(to - 1))) to--;
  return text.slice(from, to);
}

const isBlank = (code: number): boolean => code === 0x20 || code === 0x09;

/** Returns how the body after `head` ends. Faults: UNEXPECTED_ANSWER when it could end in two ways or in an unknown one. */
export function framingOf(head: AnswerHead, method: string): Framing {
  const { status, headers, isHttp10 } = head;
  if (method === "HEAD" || status === 204 || status === 304) return { kind: "none" };
  const length = headers["content-length"];
  const coding = headers["transfer-encoding"];
  if (coding !== undefined) {
    if (length !== undefined || isHttp10) throw malformed("its length is unclear");
    if (coding.toLowerCase() !== "chunked") throw malformed("its transfer coding is unknown");
    return { kind: "chunked" };
  }
  return length === undefined ? { kind: "close" } : { kind: "length", bytes: Number(length) };
}

/** Returns how long an idle connection may be reused after this answer, ms; 0 when it may not. */
export function restAfter(head: AnswerHead, defaultMs: number): number {
  const { connection, "keep-alive": keepAlive } = head.headers;
  const options = connection === undefined ? [] : connection.toLowerCase().split(/[ \t]*,[ \t]*/);
  if (options.includes("close") || (head.isHttp10 && !options.includes("keep-alive"))) return 0;
  const found = keepAlive === undefined ? null : /(?:^|[,; \t])timeout=(\d{1,6})(?!\d)/i.exec(keepAlive);
  if (found === null) return defaultMs;
  const theirMs = Number(found[1]) * 1000;
  // Until one second before the server closes it, or half of its time when that is longer.
  return Math.min(MOST_REST_MS, Math.max(theirMs - 1000, theirMs / 2));
}

const MOST_REST_MS = 60_000;
