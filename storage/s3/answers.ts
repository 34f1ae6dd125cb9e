import { Fault } from "#protocol/faults/fault.ts";
import type { StoreTraits } from "#protocol/wire/operations.ts";
import { quoteEtag } from "../answers/check-range.ts";
import { crc32FromBase64, crc32ToBase64 } from "../checksums/crc32.ts";
import { faultOfAnswer, isFromStore, type HttpAnswer } from "../answers/faults.ts";
import { NONCE_HEADER, CHECKSUM_HEADER } from "../signing/signing.ts";
import { childrenOf, escapeXml, integerOf, looksLikeHtml, parseXml, textOf, type XmlElement } from "../answers/xml.ts";

/**
 * Reads a store's answers strictly. A success needs everything that the protocol requires: a 200 with a login page, an S3
 * error, half a document or no ETag is a Fault. Every reader takes the key, for the Fault, and the expiry of the
 * signature. Without the expiry, some stores' refusals of expired signatures look like denied access.
 */

export type { HttpAnswer } from "../answers/faults.ts";

export interface ListedPart {
  partNumber: number;
  sizeBytes: number;
  etag: string;
  /** Hex; null when the store reports none. */
  crc32: string | null;
}

/** The key, or the key with `expiresAt` (epoch ms) of the signed request. */
export type About = string | { subject?: string | undefined; expiresAt?: number | undefined };

interface Asked {
  op: string;
  subject: string | undefined;
  expiresAt: number | undefined;
  answer: HttpAnswer;
}

const ask = (op: string, answer: HttpAnswer, about: About | undefined): Asked =>
  typeof about === "object"
    ? { op, answer, subject: about.subject, expiresAt: about.expiresAt }
    : { op, answer, subject: about, expiresAt: undefined };

function unexpected({ op, subject, answer }: Asked, detail: string): Fault {
  return new Fault("UNEXPECTED_ANSWER", {
    op,
    detail,
    status: answer.status,
    ...(subject === undefined ? {} : { subject }),
  });
}

/** Returns the document of an answer that must be a 200 with this root element. */
function documentOf(asked: Asked, root: string): XmlElement {
  if (asked.answer.status !== 200) throw faultOfAnswer(asked);
  const parsed = parseXml(asked.answer.body);
  if (parsed === null || parsed.root !== root) throw faultOfAnswer(asked);
  return parsed.element;
}

function required(asked: Asked, element: XmlElement, name: string): string {
  const text = textOf(element, name)?.trim();
  if (text === undefined || text === "") throw unexpected(asked, `no ${name} in the answer`);
  return text;
}

/** Returns the ETag of an answer that must be a 200 with an empty body. */
function bareEtag(asked: Asked): string {
  const { status, headers, body } = asked.answer;
  if (status !== 200 || looksLikeHtml(headers["content-type"], body)) throw faultOfAnswer(asked);
  if (!/^\s*$/.test(body.toString("latin1"))) throw faultOfAnswer(asked);
  const etag = headers["etag"]?.trim();
  if (etag === undefined || etag === "") throw unexpected(asked, "no ETag in the answer");
  return quoteEtag(etag);
}

/** Reads an answer to CreateMultipartUpload. */
export function readCreate(answer: HttpAnswer, about?: About): { uploadId: string } {
  const asked = ask("CreateMultipartUpload", answer, about);
  return { uploadId: required(asked, documentOf(asked, "InitiateMultipartUploadResult"), "UploadId") };
}

/** Reads an answer to UploadPart. */
export const readPart = (answer: HttpAnswer, about?: About): { etag: string } => ({
  etag: bareEtag(ask("UploadPart", answer, about)),
});

/**
 * Reads an answer to PutObject. ALREADY_EXISTS means that `if-none-match` prevented the write. After a lost answer the
 * existing object can be our own, so the caller compares size and nonce with HEAD.
 */
export const readPut = (answer: HttpAnswer, about?: About): { etag: string } => ({
  etag: bareEtag(ask("PutObject", answer, about)),
});

const FROM_A_CACHE: readonly string[] = ["age", "location", "www-authenticate", "set-cookie", "content-encoding"];

/**
 * Returns whether a PutObject answer proves the upload without a HEAD. An echo of our CRC32, or of our MD5 as the ETag,
 * proves it. So does a store's header, unless headers of caches or proxies are present. False is no failure: the caller
 * then sends a HEAD.
 */
export function isSurePut(answer: HttpAnswer, sent: { crc32: string; md5?: string }): boolean {
  const { status, headers, body } = answer;
  const bare = status === 200 && body.byteLength === 0 && (headers["content-length"]?.trim() ?? "0") === "0";
  if (!bare || looksLikeHtml(headers["content-type"], body)) return false;
  if (FROM_A_CACHE.some((name) => headers[name] !== undefined)) return false;
  const etag = /^"([A-Za-z0-9+/=._:-]{8,128})"$/.exec(headers["etag"]?.trim() ?? "")?.[1];
  if (etag === undefined) return false;
  const echo = headers[CHECKSUM_HEADER];
  if (echo !== undefined) return crc32FromBase64(echo) === sent.crc32;
  if (sent.md5 !== undefined && /^[0-9a-f]{32}$/i.test(etag)) return etag.toLowerCase() === sent.md5;
  return isFromStore(headers);
}

function readListedPart(asked: Asked, element: XmlElement): ListedPart {
  const partNumber = integerOf(element, "PartNumber");
  const sizeBytes = integerOf(element, "Size");
  if (partNumber === undefined || partNumber < 1 || sizeBytes === undefined) {
    throw unexpected(asked, "a part without a number or a size");
  }
  const checksum = textOf(element, "ChecksumCRC32")?.trim();
  return {
    partNumber,
    sizeBytes,
    etag: quoteEtag(required(asked, element, "ETag")),
    crc32: checksum === undefined ? null : crc32FromBase64(checksum),
  };
}

/** Reads one page of ListParts. `nextAfter` is the marker of the next page, null on the last one. */
export function readListParts(answer: HttpAnswer, about?: About): { parts: ListedPart[]; nextAfter: number | null } {
  const asked = ask("ListParts", answer, about);
  const element = documentOf(asked, "ListPartsResult");
  required(asked, element, "UploadId");
  const parts = childrenOf(element, "Part").map((part) => readListedPart(asked, part));
  const truncated = required(asked, element, "IsTruncated").toLowerCase();
  if (truncated !== "true" && truncated !== "false") throw unexpected(asked, "IsTruncated is neither true nor false");
  if (truncated === "false") return { parts, nextAfter: null };
  const last = parts.reduce((most, part) => Math.max(most, part.partNumber), 0);
  const nextAfter = integerOf(element, "NextPartNumberMarker") ?? last;
  if (parts.length === 0 || nextAfter < last) throw unexpected(asked, "a page of parts that leads nowhere");
  return { parts, nextAfter };
}

/**
 * Reads an answer to CompleteMultipartUpload. Only a 200 with ETag and Key counts; after any other answer the outcome is
 * open, so the caller compares size and nonce with HEAD. The comparison also settles a repeated Complete after a lost
 * answer. Stores answer a repeated one with NO_SUCH_UPLOAD or, with `if-none-match`, ALREADY_EXISTS.
 */
export function readComplete(answer: HttpAnswer, about?: About): { etag: string } {
  const asked = ask("CompleteMultipartUpload", answer, about);
  const element = documentOf(asked, "CompleteMultipartUploadResult");
  required(asked, element, "Key");
  return { etag: quoteEtag(required(asked, element, "ETag")) };
}

/** Reads an answer to HeadObject. `nonce` identifies the upload; null on objects without one. */
export function readHead(
  answer: HttpAnswer,
  about?: About,
): { sizeBytes: number; etag: string; nonce: string | null; crc32: string | null } {
  const asked = ask("HeadObject", answer, about);
  const { status, headers } = answer;
  const isPage = looksLikeHtml(headers["content-type"], answer.body) && !isFromStore(headers);
  if (status !== 200 || isPage) throw faultOfAnswer(asked);
  const length = headers["content-length"]?.trim() ?? "";
  const etag = headers["etag"]?.trim() ?? "";
  if (!/^\d{1,16}$/.test(length)) throw unexpected(asked, "no content-length in the answer");
  if (etag === "") throw unexpected(asked, "no ETag in the answer");
  const checksum = headers[CHECKSUM_HEADER];
  return {
    sizeBytes: Number(length),
    etag: quoteEtag(etag),
    nonce: headers[NONCE_HEADER] ?? null,
    crc32: checksum === undefined ? null : crc32FromBase64(checksum),
  };
}

/** Reads an answer to AbortMultipartUpload. An upload that does not exist counts as aborted. */
export function readAbort(answer: HttpAnswer, about?: About): void {
  const { status, headers, body } = answer;
  if ((status === 204 || status === 200) && body.byteLength === 0 && !looksLikeHtml(headers["content-type"], body))
    return;
  const fault = faultOfAnswer(ask("AbortMultipartUpload", answer, about));
  if (fault.code !== "NO_SUCH_UPLOAD") throw fault;
}

/** Reads an answer to DeleteObject. An object that does not exist counts as deleted. */
export function readDelete(answer: HttpAnswer, about?: About): void {
  const { status, headers, body } = answer;
  if ((status === 204 || status === 200) && body.byteLength === 0 && !looksLikeHtml(headers["content-type"], body))
    return;
  const fault = faultOfAnswer(ask("DeleteObject", answer, about));
  if (fault.code !== "NO_SUCH_KEY") throw fault;
}

/** Returns the body of CompleteMultipartUpload: every part in order, with its CRC32 where the store takes that. */
export function completeBody(
  parts: readonly { partNumber: number; etag: string; crc32: string }[],
  traits: Pick<StoreTraits, "checksum">,
): string {
  const lines = parts
    .toSorted((a, b) => a.partNumber - b.partNumber)
    .map(({ partNumber, etag, crc32 }) => {
      const checksum = traits.checksum === "crc32" ? `<ChecksumCRC32>${crc32ToBase64(crc32)}</ChecksumCRC32>` : "";
      return `<Part><PartNumber>${partNumber}</PartNumber><ETag>${escapeXml(etag)}</ETag>${checksum}</Part>`;
    });
  const space = "http://s3.amazonaws.com/doc/2006-03-01/";
  return `<CompleteMultipartUpload xmlns="${space}">${lines.join("")}</CompleteMultipartUpload>`;
}
