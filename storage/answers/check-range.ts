import { Fault } from "#protocol/faults/fault.ts";
import { faultOfAnswer, type PlainAnswer } from "./faults.ts";
import { looksLikeHtml } from "./xml.ts";

/** The answer to a GET, ranged mostly, read strictly. Usable in browsers, as all that it imports. */

/** ETags compare as text and stand in If-Match, so they always carry their quotes, as in the header. */
export const quoteEtag = (text: string): string => (/^(W\/)?"/.test(text) ? text : `"${text}"`);

export interface RangeAnswer {
  status: number;
  headers: PlainAnswer["headers"];
  /** The whole body of an error; left out while the body of a success is still to be read. */
  body?: Uint8Array;
}

/**
 * Whether the bytes that follow are exactly the range that was asked for, of the object that was meant.
 * @throws Fault RANGE_IGNORED on a 200 that can be the whole object, TRUNCATED on a shorter range,
 * OBJECT_CHANGED on another ETag or a 412, SIZE_MISMATCH on a 416, UNEXPECTED_ANSWER on any other range or 200.
 */
export function checkRange(
  answer: RangeAnswer,
  range: { offset: number; length: number; etag?: string | null; subject?: string; expiresAt?: number },
): void {
  const body = answer.body ?? new Uint8Array();
  const { status, headers } = answer;
  const { subject, expiresAt } = range;
  const asked = { op: "GetObject", answer: { status, headers, body }, subject, expiresAt };
  const about = { op: "GetObject", status, ...(subject !== undefined && { subject }) };
  const unexpected = (detail: string): Fault => new Fault("UNEXPECTED_ANSWER", { ...about, detail });
  // An object may be a page; what tells it from a portal's is the range, and the ETag where one is known.
  if (status !== 206 && looksLikeHtml(headers["content-type"], body)) throw faultOfAnswer(asked);
  if (status === 200) {
    // Who ignores a range sends the whole object, with its ETag. Anything else is some other answer, an error perhaps, and may
    // pass; such a one can be longer than a small object.
    const wholeLength = Number(headers["content-length"]?.trim() ?? Number.NaN);
    if (!(wholeLength >= range.offset + range.length) || headers["etag"] === undefined)
      throw unexpected("neither the range nor the whole object");
    throw new Fault("RANGE_IGNORED", about);
  }
  if (status !== 206) throw faultOfAnswer({ ...asked, ...(answer.body === undefined && { bodyUnread: true }) });
  const found = /^bytes (\d{1,16})-(\d{1,16})\/(\d{1,16}|\*)$/.exec(headers["content-range"]?.trim() ?? "");
  if (found === null) throw unexpected("no readable Content-Range in the answer");
  const [first, last] = [Number(found[1]), Number(found[2])];
  const wantedLast = range.offset + range.length - 1;
  if (first !== range.offset || last > wantedLast) throw unexpected("another range than the one asked for");
  if (last < wantedLast) {
    const total = Number(found[3]);
    // The object ends before the range does: fetching again cannot help.
    const code = last + 1 === total ? "SIZE_MISMATCH" : "TRUNCATED";
    throw new Fault(code, about);
  }
  const length = headers["content-length"]?.trim();
  if (length !== undefined && length !== String(range.length)) throw unexpected("Content-Length and range differ");
  const coding = codingOf(headers, range.length);
  if (coding !== null) throw unexpected(coding);
  const etag = headers["etag"]?.trim();
  if (range.etag != null && etag !== undefined && quoteEtag(etag) !== quoteEtag(range.etag)) {
    throw new Fault("OBJECT_CHANGED", about);
  }
}

/**
 * Whether the bytes that follow a success are all of the object that was meant. `isPinned`: with this ETag and no other. An
 * object may be a page; what tells it from a portal's is its ETag.
 * @throws Fault OBJECT_CHANGED on another ETag, UNEXPECTED_ANSWER on any other answer that is not the object.
 */
export function checkWhole(
  answer: RangeAnswer,
  object: { length: number; etag: string | null; isPinned: boolean; subject: string },
): void {
  const { status, headers } = answer;
  const { length, subject } = object;
  const about = { op: "GetObject", status, subject };
  const unexpected = (detail: string): Fault => new Fault("UNEXPECTED_ANSWER", { ...about, detail });
  const etag = headers["etag"]?.trim();
  if (status !== 200 || etag === undefined) throw unexpected("not the object");
  if (object.etag === null || quoteEtag(etag) !== quoteEtag(object.etag)) {
    if (object.isPinned) throw new Fault("OBJECT_CHANGED", about);
    if (looksLikeHtml(headers["content-type"], new Uint8Array())) throw unexpected("a page");
  }
  const coding = codingOf(headers, length);
  if (coding !== null) throw unexpected(coding);
  if (headers["content-length"]?.trim() !== String(length)) throw unexpected("another length than that of the object");
}

/**
 * Returns what to say when the bytes that come are not those of the object; null when they are. An object may be stored with an encoding
 * (`gzip`, `aws-chunked`), and then its bytes are the encoded ones; whoever encodes them on the way cannot say their length.
 */
function codingOf(headers: RangeAnswer["headers"], length: number): string | null {
  const encoding = headers["content-encoding"]?.trim().toLowerCase() ?? "";
  if (encoding === "" || encoding === "identity" || headers["content-length"]?.trim() === String(length)) return null;
  return `the bytes were encoded as ${encoding.slice(0, 32)} on the way`;
}
