import { Fault, isFault } from "#protocol/faults/fault.ts";
import type { HttpAnswer } from "#storage/s3/answers.ts";
import { archivedFault } from "#storage/answers/archived-fault.ts";
import { archiveStateOf, type ArchiveState } from "#storage/answers/storage-class.ts";
import { checkRange, quoteEtag } from "#storage/answers/check-range.ts";
import { faultOfAnswer, isFromStore } from "#storage/answers/faults.ts";
import { CHECKSUM_HEADER, NONCE_HEADER, NOT_FOR_ALL, SUM_WANTED } from "#storage/signing/signing.ts";
import { looksLikeHtml } from "#storage/answers/xml.ts";
import { callStore } from "#worker/transfer/engine.ts";
import { askStore } from "./ask-store.ts";
import type { StoreSession } from "#worker/store-session/store-session.ts";

/** Metadata of one object, from a HEAD. */
export interface ObjectHead {
  sizeBytes: number;
  /** With its quotes. */
  etag: string;
  nonce: string | null;
  modifiedAtMs: number | null;
  /** In the store's notation: base64, followed by `-N` for a composite checksum of N parts. */
  crc32: string | null;
  /** Encrypted with its own key (SSE-KMS or SSE-C), so that the ETag is no MD5. */
  isOpaque: boolean;
  archive: ArchiveState;
  headers: HttpAnswer["headers"];
}

const OP = "HeadObject";

/** Refusals without a body whose reason a second request tells. */
const UNEXPLAINED: ReadonlySet<string> = new Set(["ACCESS_DENIED", "UNSUPPORTED"]);

/** Makes a HEAD. A 400 or 403 without a body is explained by a second request. @throws Fault NO_SUCH_KEY and others of the store */
export async function headObject(
  storeSession: StoreSession,
  at: { key: string; signal: AbortSignal },
): Promise<ObjectHead> {
  try {
    return await askHead(storeSession, at);
  } catch (error) {
    if (!isFault(error) || !UNEXPLAINED.has(error.code)) throw error;
    const reason = await reasonOfRefusal(storeSession, { ...at, fault: error });
    // The answer also told the store's time or region, so the next signature will be right. So will it be with keys that the
    // second request got in place of expired ones.
    const isOver = reason === error && error.code === "UNSUPPORTED";
    if (reason.code === "SIGNATURE_EXPIRED" || isOver) return askHead(storeSession, at);
    throw reason;
  }
}

async function askHead(storeSession: StoreSession, at: { key: string; signal: AbortSignal }): Promise<ObjectHead> {
  const { key, signal } = at;
  const { probeChecksum } = storeSession.access.traits;
  // Ask for the checksum unless the store is known not to support it.
  if (storeSession.engine.store.checksum === "crc32") {
    const head = await askStore(
      storeSession,
      { op: OP, method: "HEAD", at: { key }, headers: SUM_WANTED, signal },
      (answer) => (probeChecksum && NOT_FOR_ALL.has(answer.status) ? null : readObjectHead(answer, key)),
    );
    if (head !== null) return head;
  }
  return askStore(storeSession, { op: OP, method: "HEAD", at: { key }, signal }, (answer) =>
    readObjectHead(answer, key),
  );
}

/** Returns the object's metadata, or null when it does not exist. @throws Faults of `headObject` except NO_SUCH_KEY */
export async function findObject(
  storeSession: StoreSession,
  at: { key: string; signal: AbortSignal },
): Promise<ObjectHead | null> {
  try {
    return await headObject(storeSession, at);
  } catch (error) {
    if (isFault(error) && (error.code === "NO_SUCH_KEY" || error.code === "NOT_FOUND")) return null;
    throw error;
  }
}

/** Returns the part length of an object, by the length of its first part; null where the store does not tell. */
export async function partBytesOf(
  storeSession: StoreSession,
  at: { key: string; signal: AbortSignal },
): Promise<number | null> {
  const { key, signal } = at;
  const query = [["partNumber", "1"]] as const;
  try {
    return await askStore(storeSession, { op: OP, method: "HEAD", at: { key }, query, signal }, (answer) => {
      if (answer.status !== 206) return null;
      const length = Number(answer.headers["content-length"] ?? "");
      return Number.isSafeInteger(length) && length > 0 ? length : null;
    });
  } catch (error) {
    if (isFault(error) && error.retry === "never" && error.code !== "CANCELLED") return null;
    throw error;
  }
}

/** Reads an answer to a HEAD. @throws Fault NO_SUCH_KEY and others of the store */
export function readObjectHead(answer: HttpAnswer, key: string): ObjectHead {
  const { status, headers } = answer;
  // A web page instead of an answer is an interception, unless the object itself is HTML.
  if (status !== 200 || (looksLikeHtml(headers["content-type"], answer.body) && !isFromStore(headers))) {
    const fault = faultOfAnswer({ op: OP, subject: key, answer });
    // Not tried again as it is: the object may want a key of its own (SSE-C), or the credentials may have expired.
    if (status === 400 && fault.code === "UNEXPECTED_ANSWER")
      throw new Fault("UNSUPPORTED", { op: OP, subject: key, detail: "HTTP 400" });
    throw fault;
  }
  const length = headers["content-length"]?.trim() ?? "";
  const etag = headers["etag"]?.trim() ?? "";
  if (!/^\d{1,16}$/.test(length) || etag === "") {
    throw new Fault("UNEXPECTED_ANSWER", { op: OP, subject: key, detail: "no size or no ETag in the answer" });
  }
  const modifiedAtMs = Date.parse(headers["last-modified"] ?? "");
  const encryption = headers["x-amz-server-side-encryption"] ?? "";
  return {
    sizeBytes: Number(length),
    etag: quoteEtag(etag),
    nonce: headers[NONCE_HEADER] ?? null,
    modifiedAtMs: Number.isNaN(modifiedAtMs) ? null : modifiedAtMs,
    crc32: headers[CHECKSUM_HEADER]?.trim() ?? null,
    isOpaque:
      encryption.startsWith("aws:kms") || headers["x-amz-server-side-encryption-customer-algorithm"] !== undefined,
    archive: archiveStateOf({
      storageClass: headers["x-amz-storage-class"] ?? null,
      archiveStatus: headers["x-amz-archive-status"] ?? null,
      restore: headers["x-amz-restore"] ?? null,
    }),
    headers,
  };
}

/** Asserts that the bytes of an object can be read now. @throws Fault OBJECT_ARCHIVED, OBJECT_BEING_RESTORED */
export function assertReadable({ archive }: Pick<ObjectHead, "archive">, at: { op: string; key: string }): void {
  if (archive !== "readable") throw archivedFault(at.op, [{ name: at.key, state: archive }]);
}

/** Finds the reason of a refused HEAD by a GET of one byte, because the answer to a HEAD has no body with an error code. */
async function reasonOfRefusal(
  { engine }: StoreSession,
  about: { key: string; signal: AbortSignal; fault: Fault },
): Promise<Fault> {
  const { key, signal, fault } = about;
  try {
    await callStore(engine, { operation: { op: "get", key, offset: 0, length: 1, etag: null }, signal }, (answer) =>
      checkRange(answer, { offset: 0, length: 1, subject: key }),
    );
    return fault;
  } catch (error) {
    return isFault(error) && error.code !== "NO_SUCH_KEY" ? error : fault;
  }
}
