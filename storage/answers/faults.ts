import { Fault, isFault, type FaultContext } from "#protocol/faults/fault.ts";
import type { FaultCode } from "#protocol/faults/fault-table.ts";
import { measureClock, sayClock } from "./clock-skew.ts";
import { BY_CODE, BY_NAME, BY_NETWORK_CODE, BY_NETWORK_FAMILY } from "./fault-codes.ts";
import { childrenOf, looksLikeHtml, parseXml, textOf, type XmlElement } from "./xml.ts";

/**
 * Any error of a store, of the network or of the SDK as a Fault. Decided by status and S3 error code alone, through the
 * tables of fault-codes.ts, because message texts differ between stores and versions. An error that no S3 server wrote
 * (no S3 XML) is never taken at its word: it is the network speaking, so it is tried again instead of being believed.
 */

export interface HttpAnswer {
  status: number;
  /** Lower-case names. */
  headers: Readonly<Record<string, string | undefined>>;
  body: Buffer;
}

/** The same where there are no Buffers: in a browser. */
export type PlainAnswer = Omit<HttpAnswer, "body"> & { body: Uint8Array };

/** What a store's own answers carry and a portal, a proxy or a cache does not. */
const STORE_HEADERS: readonly string[] = ["x-amz-request-id", "x-amz-id-2", "x-amz-version-id", "x-goog-hash"];

/** Whether a store wrote this answer: then a type of text/html is the object's own, not a sign-in page's. */
export const isFromStore = (headers: HttpAnswer["headers"]): boolean =>
  STORE_HEADERS.some((name) => (headers[name]?.trim() ?? "") !== "");

/** A refusal that names its type, which is not a store's, and has none of a store's headers. Stores name XML, or nothing. */
function isOfSomebodyElse(headers: HttpAnswer["headers"]): boolean {
  const type = headers["content-type"]?.trim() ?? "";
  return type !== "" && !/xml/i.test(type) && !isFromStore(headers);
}

const READS: ReadonlySet<string> = new Set(["GetObject", "HeadObject", "ListParts", "ListObjectsV2"]);

/** A failed condition: on a read the object is another one, on a write there is one already. */
const conditionFailed = (op: string): FaultCode => (READS.has(op) ? "OBJECT_CHANGED" : "ALREADY_EXISTS");

/** An S3 error document whose code is in no table. */
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

/** An answer that cannot have a body (HEAD): the status is all there is. */
function byBareStatus(status: number, op: string): FaultCode {
  if (status === 404) return op === "HeadBucket" ? "NO_SUCH_BUCKET" : "NO_SUCH_KEY";
  if (status === 407) return "PROXY_LOGIN";
  if (status === 511 || (status >= 300 && status < 400 && status !== 304)) return "INTERCEPTED";
  // HEAD hides the code; 400 stands for many things, an expired token among them.
  if (status === 400) return "UNEXPECTED_ANSWER";
  return byStatus(status, op);
}

/** An error without S3 XML where there should be some. Only what cannot do harm is believed. */
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

/** `Retry-After` in milliseconds, from seconds or a date (counted from the answer's own Date). */
function retryAfterMs(headers: HttpAnswer["headers"]): number | undefined {
  const text = headers["retry-after"]?.trim();
  if (text === undefined || text === "") return undefined;
  if (/^\d{1,6}$/.test(text)) return Number(text) * 1000;
  const until = Date.parse(text);
  const from = Date.parse(headers["date"] ?? "");
  return Number.isNaN(until) || Number.isNaN(from) ? undefined : Math.max(0, until - from);
}

/** An S3 error document in this body, or null. `Error` is the root; services beside S3 wrap it in `ErrorResponse`. */
export function errorDocument(body: Uint8Array): XmlElement | null {
  const parsed = parseXml(body);
  const [inner] = parsed?.root === "ErrorResponse" ? childrenOf(parsed.element, "Error") : [];
  const element = parsed?.root === "Error" ? parsed.element : inner;
  return element !== undefined && textOf(element, "Code") !== undefined ? element : null;
}

const MISPLACED: ReadonlySet<number> = new Set([301, 307, 308, 400, 403]);
const REGION = /^[a-z0-9-]{1,32}$/;

/**
 * The region in which the store says the bucket is, when this answer is a refusal that names one: by header, or in the
 * document where the header is missing. Null for anything else, and for a name that is no region's.
 */
export function namedRegion(answer: PlainAnswer): string | null {
  if (!MISPLACED.has(answer.status)) return null;
  const element = errorDocument(answer.body);
  const code = element === null ? undefined : textOf(element, "Code");
  const isMisplaced = code !== undefined && Object.hasOwn(BY_CODE, code) && BY_CODE[code] === "WRONG_REGION";
  // A refusal of another kind carries the header too, and its region is then the right one already.
  if (code !== undefined && !isMisplaced && code !== "TemporaryRedirect") return null;
  const named = answer.headers["x-amz-bucket-region"] ?? (element === null ? undefined : textOf(element, "Region"));
  return named !== undefined && REGION.test(named.trim()) ? named.trim() : null;
}

export interface AnswerContext {
  /** The S3 name of the operation: `UploadPart`. */
  op: string;
  subject?: string | undefined;
  answer: PlainAnswer;
  /** When the signature of the request ends (epoch ms): tells a refusal from a signature that was too old. */
  expiresAt?: number | undefined;
  /** The body of this answer was not read: only the status can be judged, as after a HEAD. */
  bodyUnread?: true | undefined;
}

function signatureIsOver(element: XmlElement | null, { answer, expiresAt }: AnswerContext): boolean {
  // AWS adds these two elements to a refusal exactly when a presigned URL is over.
  if (element !== null && textOf(element, "Expires") !== undefined && textOf(element, "ServerTime") !== undefined) {
    return true;
  }
  const storeTime = Date.parse(answer.headers["date"] ?? "");
  return expiresAt !== undefined && !Number.isNaN(storeTime) && storeTime >= expiresAt;
}

function codeOf(context: AnswerContext, element: XmlElement | null): FaultCode {
  const { op, answer } = context;
  const { status, headers } = answer;
  const bodyless = op.startsWith("Head") || context.bodyUnread === true;
  if (element !== null) {
    const s3Code = textOf(element, "Code") ?? "";
    if (s3Code === "PreconditionFailed" || s3Code === "NotModified") return conditionFailed(op);
    const known = Object.hasOwn(BY_CODE, s3Code) ? BY_CODE[s3Code] : undefined;
    const code = known ?? byStatus(status, op);
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

/** The two times that stand in a refusal for a skewed clock, as what they say of the clock that signed. */
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
  // The store's own words help where no table knows the code; they are shown, never interpreted. A text that quotes
  // the request could hold a signature and is left out.
  const message = element === null ? undefined : textOf(element, "Message");
  const known = s3Code !== undefined && Object.hasOwn(BY_CODE, s3Code);
  // A right on the bucket does not help against a right that lacks on the key that encrypts it.
  const right = s3Code === "AccessDenied" ? /\bkms:[A-Za-z]{1,40}\b/.exec(message ?? "")?.[0] : undefined;
  if (right !== undefined) parts.push(`${right} on the key by which the bucket is encrypted`);
  const isCondition = s3Code === "PreconditionFailed";
  if (!known && !isCondition && message !== undefined && message !== "" && !/x-amz-/i.test(message))
    parts.push(message.slice(0, 300));
  return parts.join(": ");
}

/**
 * The Fault of an answer that is not the success it should be: an error status, or a success whose body is an S3 error
 * or a page of somebody else. Sets `status`, `requestId`, `retryAfterMs`.
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
  /** What was recognised. Never the message: it can hold a signed URL. */
  by: string;
}

/** Looks through an error, its causes and, after several addresses failed, the errors of each. */
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
 * The Fault of a request that got no (whole) answer. A Fault passes through. What nobody knows is a lost link: it was
 * thrown while talking to the network, and trying again is the answer that loses nothing.
 */
export function faultOfNetwork(error: unknown, context: Pick<FaultContext, "op" | "subject">): Fault {
  const found = findNetworkCode(error);
  if (isFault(found)) return found;
  if (found === null) return new Fault("LINK_DOWN", { ...context, cause: error });
  return new Fault(found.code, { ...context, detail: found.by, cause: error });
}

/**
 * The Fault of an error thrown by a control client. Answers became Faults inside it already (see client.ts), so what is
 * left is the network, or a request the SDK refused to build, which is a mistake of ours.
 */
export function faultOfSdk(error: unknown, context: Pick<FaultContext, "op" | "subject">): Fault {
  const found = findNetworkCode(error);
  if (isFault(found)) return found;
  if (found !== null) return new Fault(found.code, { ...context, detail: found.by, cause: error });
  const name = error instanceof Error ? error.name : typeof error;
  return new Fault("INTERNAL", { ...context, detail: name, cause: error });
}
