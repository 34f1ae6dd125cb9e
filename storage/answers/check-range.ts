import { Fault } from "#protocol/faults/fault.ts";
import { faultOfAnswer, type PlainAnswer } from "./faults.ts";
import { looksLikeHtml } from "./xml.ts";

/** Strict checks of answers to GetObject, mostly ranged. Safe for browsers, as are all imports. */

/** Returns an ETag with its quotes. ETags are compared as text and sent in If-Match, so all keep the header's form. */
export const quoteEtag = (text: string): string => (/^(W\/)?"/.test(text) ? text : `"${text}"`);

export interface RangeAnswer {
  status: number;
  headers: PlainAnswer["headers"];
  /** The whole body of an error; left out while the body of a success is unread. */
  body?: Uint8Array;
}

/**
 * Checks that the bytes that follow are exactly the requested range of the expected object.
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
  // The body of a 206 may itself be an HTML page. Any other HTML answer is a captive portal's.
  if (status !== 206 && looksLikeHtml(headers["content-type"], body)) throw faultOfAnswer(asked);
  if (status === 200) {
    // A store that ignores ranges sends the whole object with its ETag. Any other 200 is a foreign or passing answer,
    // which may even be longer than a small object.
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
    // The object is shorter than the range, so a retry cannot help.
    const code = last + 1 === total ? "SIZE_MISMATCH" : "TRUNCATED";
    throw new Fault(code, about);
  }
  const coding = codingOf(headers, range.length);
  if (coding !== null) throw new Fault("INTERCEPTED", { ...about, detail: coding });
  const length = headers["content-length"]?.trim();
  if (length !== undefined && length !== String(range.length)) throw unexpected("Content-Length and range differ");
  const etag = headers["etag"]?.trim();
  if (range.etag != null && etag !== undefined && quoteEtag(etag) !== quoteEtag(range.etag)) {
    throw new Fault("OBJECT_CHANGED", about);
  }
}

/**
 * Checks that the bytes that follow a success are the whole expected object. `isPinned`: only this ETag is accepted. An
 * object may itself be an HTML page; its ETag distinguishes it from a captive portal's page.
 * @throws Fault OBJECT_CHANGED on another ETag, INTERCEPTED when a proxy encoded the bytes, UNEXPECTED_ANSWER on any other answer that is not the object
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
  if (coding !== null) throw new Fault("INTERCEPTED", { ...about, detail: coding });
  if (headers["content-length"]?.trim() !== String(length)) throw unexpected("another length than that of the object");
}

/**
 * Returns an error text when a proxy encoded the bytes on the way; null when they are the object's own. An object may be
 * stored encoded (`gzip`, `aws-chunked`). A proxy that encodes on the fly cannot announce the stored length.
 */
function codingOf(headers: RangeAnswer["headers"], length: number): string | null {
  const encoding = headers["content-encoding"]?.trim().toLowerCase() ?? "";
  if (encoding === "" || encoding === "identity" || headers["content-length"]?.trim() === String(length)) return null;
  return `the bytes were encoded as ${encoding.slice(0, 32)} on the way`;
}
