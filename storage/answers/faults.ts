import { Fault, isFault, type FaultContext } from "#protocol/faults/fault.ts";
import type { FaultCode } from "#protocol/faults/fault-table.ts";
import { measureClock, sayClock } from "./clock-skew.ts";
import { BY_CODE, BY_NAME, BY_NETWORK_CODE, BY_NETWORK_FAMILY } from "./fault-codes.ts";
import { childrenOf, looksLikeHtml, parseXml, textOf, type XmlElement } from "./xml.ts";

/**
 * Turns any error of a store, the network or the SDK into a Fault. Only the status and the S3 error code decide, through
 * the tables of fault-codes.ts, because message texts differ between stores and versions. An error without S3 XML may
 * come from a proxy or portal on the way, so its status is rarely believed and the request is retried.
 */

export interface HttpAnswer {
  status: number;
  /** Lower-case names. */
  headers: Readonly<Record<string, string | undefined>>;
  body: Buffer;
}

/** The same type for browsers, which have no Buffer. */
export type PlainAnswer = Omit<HttpAnswer, "body"> & { body: Uint8Array };

/** Headers that stores send, but captive portals, proxies and caches do not. */
const STORE_HEADERS: readonly string[] = ["x-amz-request-id", "x-amz-id-2", "x-amz-version-id", "x-goog-hash"];

/** Returns whether a store wrote this answer. A text/html type is then the object's own, not a sign-in page's. */
export const isFromStore = (headers: HttpAnswer["headers"]): boolean =>
  STORE_HEADERS.some((name) => (headers[name]?.trim() ?? "") !== "");

/** Returns whether a refusal comes from a proxy or portal: it has no store headers, and a content type other than XML. */
function isOfSomebodyElse(headers: HttpAnswer["headers"]): boolean {
  const type = headers["content-type"]?.trim() ?? "";
  return type !== "" && !/xml/i.test(type) && !isFromStore(headers);
}

const READS: ReadonlySet<string> = new Set(["GetObject", "HeadObject", "ListParts", "ListObjectsV2"]);

/** Maps a failed condition: on a read the object has changed, on a write an object already exists. */
const conditionFailed = (op: string): FaultCode => (READS.has(op) ? "OBJECT_CHANGED" : "ALREADY_EXISTS");

/** Maps the status of an S3 error document whose code is in no table. */
function byStatus(status: number, op: string): FaultCode {
  if (status === 412 || status === 304) return conditionFailed(op);
  if (status === 416) return "SIZE_MISMATCH";
  if (status === 429) return "THROTTLED";
  if (status === 501 || status === 405) return "UNSUPPORTED";
  if (status === 404) return "NOT_FOUND";
  if (status === 401 || status === 403) return "ACCESS_DENIED";
  if (status === 408 || status === 409 || status === 410 || status === 425 || status >= 500) return "STORE_UNAVAILABLE";
  return status >= 400 ? "UNSUPPORTED" : "UNEXPECTED_ANSWER";
}

/** Maps the status of an answer without a body, such as that of HEAD. */
function byBareStatus(status: number, op: string): FaultCode {
  if (status === 404) return op === "HeadBucket" ? "NO_SUCH_BUCKET" : "NO_SUCH_KEY";
  if (status === 407) return "PROXY_LOGIN";
  if (status === 511 || (status >= 300 && status < 400 && status !== 304)) return "INTERCEPTED";
  // HEAD has no error code, and 400 has many causes, such as an expired token.
  if (status === 400) return "UNEXPECTED_ANSWER";
  return byStatus(status, op);
}

/** Maps an error answer without S3 XML. A proxy may have written it, so a 403 or 404 is not believed but retried. */
function byForeignAnswer(answer: PlainAnswer, op: string): FaultCode {
  const { status } = answer;
  if (status === 407) return "PROXY_LOGIN";
  if (status === 429) return "THROTTLED";
  if (status === 511) return "INTERCEPTED";
  if (status === 501) return "UNSUPPORTED";
  if (status >= 500) return "STORE_UNAVAILABLE";
  const empty = answer.body.byteLength === 0;
  if (empty && (status === 412 || status === 304)) return conditionFailed(op);
  if (empty && status === 416) return "SIZE_MISMATCH";
  return "INTERCEPTED";
}

/** Returns `Retry-After` in ms, from seconds or from a date (relative to the answer's own Date). */
function retryAfterMs(headers: HttpAnswer["headers"]): number | undefined {
  const text = headers["retry-after"]?.trim();
  if (text === undefined || text === "") return undefined;
  if (/^\d{1,6}$/.test(text)) return Number(text) * 1000;
  const until = Date.parse(text);
  const from = Date.parse(headers["date"] ?? "");
  return Number.isNaN(until) || Number.isNaN(from) ? undefined : Math.max(0, until - from);
}

/** Returns the S3 error document in a body, or null. The root is `Error`; services beside S3 wrap it in `ErrorResponse`. */
export function errorDocument(body: Uint8Array): XmlElement | null {
  const parsed = parseXml(body);
  const [inner] = parsed?.root === "ErrorResponse" ? childrenOf(parsed.element, "Error") : [];
  const element = parsed?.root === "Error" ? parsed.element : inner;
  return element !== undefined && textOf(element, "Code") !== undefined ? element : null;
}

const MISPLACED: ReadonlySet<number> = new Set([301, 307, 308, 400, 403]);
const REGION = /^[a-z0-9-]{1,32}$/;

/**
 * Returns the region in which the store locates the bucket, if this answer is a refusal that names one. Reads the header,
 * or the error document without it. Null otherwise, and for a malformed name.
 */
export function namedRegion(answer: PlainAnswer): string | null {
  if (!MISPLACED.has(answer.status)) return null;
  const element = errorDocument(answer.body);
  const code = element === null ? undefined : textOf(element, "Code");
  const isMisplaced = code !== undefined && Object.hasOwn(BY_CODE, code) && BY_CODE[code] === "WRONG_REGION";
  // Refusals of other kinds carry the region header too; the request then already went to that region.
  if (code !== undefined && !isMisplaced && code !== "TemporaryRedirect") return null;
  const named = answer.headers["x-amz-bucket-region"] ?? (element === null ? undefined : textOf(element, "Region"));
  return named !== undefined && REGION.test(named.trim()) ? named.trim() : null;
}

export interface AnswerContext {
  /** The S3 name of the operation: `UploadPart`. */
  op: string;
  subject?: string | undefined;
  answer: PlainAnswer;
  /** Expiry of the request's signature, epoch ms. Distinguishes a denied request from an expired signature. */
  expiresAt?: number | undefined;
  /** The body was not read, so only the status can be judged, as after a HEAD. */
  bodyUnread?: true | undefined;
}

function signatureIsOver(element: XmlElement | null, { answer, expiresAt }: AnswerContext): boolean {
  // AWS adds both elements to a refusal exactly when a presigned URL has expired.
  if (element !== null && textOf(element, "Expires") !== undefined && textOf(element, "ServerTime") !== undefined) {
    return true;
  }
  const storeTime = Date.parse(answer.headers["date"] ?? "");
  return expiresAt !== undefined && !Number.isNaN(storeTime) && storeTime >= expiresAt;
}

/**
 * Returns whether AWS names the KMS key of an object as the reason: it is disabled, is being deleted, or does not exist
 * any more.
 */
const isKeyRefused = (s3Code: string): boolean => s3Code.startsWith("KMS.");

/** The whole message of most refusals, which adds nothing to the code. */
const BARE_DENIAL = /^access denied\.?$/i;

function codeOf(context: AnswerContext, element: XmlElement | null): FaultCode {
  const { op, answer } = context;
  const { status, headers } = answer;
  const bodyless = op.startsWith("Head") || context.bodyUnread === true;
  if (element !== null) {
    const s3Code = textOf(element, "Code") ?? "";
    if (s3Code === "PreconditionFailed" || s3Code === "NotModified") return conditionFailed(op);
    const known = Object.hasOwn(BY_CODE, s3Code) ? BY_CODE[s3Code] : undefined;
    const code = known ?? (isKeyRefused(s3Code) ? "ACCESS_DENIED" : byStatus(status, op));
    return code === "ACCESS_DENIED" && signatureIsOver(element, context) ? "SIGNATURE_EXPIRED" : code;
  }
  const html = looksLikeHtml(headers["content-type"], answer.body);
  if (!html && headers["x-amz-bucket-region"] !== undefined && (status === 301 || status === 307 || status === 400)) {
    return "WRONG_REGION";
  }
  if (bodyless && isOfSomebodyElse(headers)) return byForeignAnswer(answer, op);
  if (bodyless && !html) {
    const code = byBareStatus(status, op);
    return code === "ACCESS_DENIED" && signatureIsOver(null, context) ? "SIGNATURE_EXPIRED" : code;
  }
  if (status >= 200 && status < 300) return html ? "INTERCEPTED" : "UNEXPECTED_ANSWER";
  return byForeignAnswer(answer, op);
}

/** Returns a sentence on the clock offset, from the request's and the store's time in a refusal for clock skew. */
function saySkew(element: XmlElement): string | null {
  const signedAt = /^(\d{4})(\d\d)(\d\d)T(\d\d)(\d\d)(\d\d)Z$/.exec(textOf(element, "RequestTime")?.trim() ?? "");
  const storeTime = Date.parse(textOf(element, "ServerTime") ?? "");
  if (signedAt === null || Number.isNaN(storeTime)) return null;
  const [year = 0, month = 1, day = 1, hour = 0, minute = 0, second = 0] = signedAt.slice(1).map(Number);
  const signedTime = Date.UTC(year, month - 1, day, hour, minute, second);
  const date = new Date(storeTime).toUTCString();
  return sayClock(measureClock(null, { sentAtMs: signedTime, receivedAtMs: signedTime, date }));
}

function detailOf(answer: PlainAnswer, element: XmlElement | null, code: FaultCode): string | undefined {
  const s3Code = element === null ? undefined : textOf(element, "Code");
  const parts: string[] = [s3Code ?? `HTTP ${answer.status}`];
  const region = code === "WRONG_REGION" ? namedRegion(answer) : null;
  if (region !== null) parts.push(`the store names ${region}`);
  const skew = code === "CLOCK_SKEW" && element !== null ? saySkew(element) : null;
  if (skew !== null) parts.push(skew);
  // The store's message helps where no table has the code; it is shown but never interpreted. Messages that quote the
  // request are left out, because they could hold a signature.
  const message = element === null ? undefined : textOf(element, "Message");
  const known = s3Code !== undefined && Object.hasOwn(BY_CODE, s3Code);
  // Permissions on the bucket do not help when a permission on its KMS key is missing, so the missing one is named.
  const right = s3Code === "AccessDenied" ? /\bkms:[A-Za-z]{1,40}\b/.exec(message ?? "")?.[0] : undefined;
  if (right !== undefined) parts.push(`${right} on the key by which the bucket is encrypted`);
  else if (s3Code !== undefined && isKeyRefused(s3Code))
    parts.push("the key by which the object is encrypted cannot be used");
  const isCondition = s3Code === "PreconditionFailed";
  // A refusal may name its reason: an object lock, a policy of the bucket, the missing right.
  const isExplained = s3Code === "AccessDenied" && right === undefined && !BARE_DENIAL.test(message?.trim() ?? "");
  if ((!known || isExplained) && !isCondition && message !== undefined && message !== "" && !/x-amz-/i.test(message))
    parts.push(message.slice(0, 300));
  return parts.join(": ");
}

/**
 * Returns the Fault of an answer that is not the expected success: an error status, or a success whose body is an S3
 * error or a foreign page. Sets `status`, `requestId`, `retryAfterMs`.
 */
export function faultOfAnswer(context: AnswerContext): Fault {
  const { op, subject, answer } = context;
  const element = errorDocument(answer.body);
  const code = codeOf(context, element);
  const requestId = answer.headers["x-amz-request-id"] ?? (element === null ? undefined : textOf(element, "RequestId"));
  return new Fault(code, {
    op,
    status: answer.status,
    ...definedOnly({ subject, requestId, retryAfterMs: retryAfterMs(answer.headers) }),
    ...definedOnly({ storeCode: element === null ? undefined : textOf(element, "Code") }),
    ...definedOnly({ detail: detailOf(answer, element, code) }),
  });
}

type Defined<T> = { [K in keyof T]?: Exclude<T[K], undefined> };

function definedOnly<T extends object>(values: T): Defined<T> {
  const entries = Object.entries(values).filter(([, value]) => value !== undefined);
  return Object.fromEntries(entries) as Defined<T>;
}

function networkCode(text: string): FaultCode | undefined {
  if (Object.hasOwn(BY_NETWORK_CODE, text)) return BY_NETWORK_CODE[text];
  return BY_NETWORK_FAMILY.find(([family]) => text.startsWith(family))?.[1];
}

interface Found {
  code: FaultCode;
  /** The code or error name that was recognized. Never the message, which can hold a signed URL. */
  by: string;
}

/** Searches an error, its causes and, when several addresses failed, the error of each. */
function findNetworkCode(error: unknown, depth = 0): Found | Fault | null {
  if (isFault(error)) return error;
  if (depth > 5 || !(error instanceof Error)) return null;
  const deeper = [...(error instanceof AggregateError ? (error.errors as unknown[]) : []), error.cause];
  for (const inner of deeper) {
    const found = findNetworkCode(inner, depth + 1);
    if (found !== null) return found;
  }
  if ("code" in error && typeof error.code === "string") {
    const code = networkCode(error.code);
    if (code !== undefined) return { code, by: error.code };
  }
  const named = Object.hasOwn(BY_NAME, error.name) ? BY_NAME[error.name] : undefined;
  return named === undefined ? null : { code: named, by: error.name };
}

/**
 * Returns the Fault of a request without a complete answer. A Fault passes through. An unknown error counts as a lost
 * link: the network threw it, and a retry loses nothing.
 */
export function faultOfNetwork(error: unknown, context: Pick<FaultContext, "op" | "subject">): Fault {
  const found = findNetworkCode(error);
  if (isFault(found)) return found;
  if (found === null) return new Fault("LINK_DOWN", { ...context, cause: error });
  return new Fault(found.code, { ...context, detail: found.by, cause: error });
}

/**
 * Returns the Fault of an error thrown by a control client. Error answers became Faults inside the client (see
 * client.ts). The rest are network errors, or requests that the SDK refused to build, which are bugs of ours.
 */
export function faultOfSdk(error: unknown, context: Pick<FaultContext, "op" | "subject">): Fault {
  const found = findNetworkCode(error);
  if (isFault(found)) return found;
  if (found !== null) return new Fault(found.code, { ...context, detail: found.by, cause: error });
  const name = error instanceof Error ? error.name : typeof error;
  return new Fault("INTERNAL", { ...context, detail: name, cause: error });
}
