import { Fault } from "#protocol/faults/fault.ts";
import type { StoreTrust } from "#protocol/wire/store-trust.ts";
import type { StoreChecksum } from "#protocol/wire/store-checksum.ts";
import type { Operation, SignedRequest, StoreTraits } from "#protocol/wire/operations.ts";
import { crc32ToBase64 } from "../checksums/crc32.ts";
import { encodeKey, MAX_LIFETIME_MS, presign, type Credential, type QueryPairs } from "./sigv4.ts";

/**
 * From an operation to a request that any HTTP client can send. This is the seam of the product: whoever holds the key
 * (the node itself in direct mode, otherwise the hub) is a `RequestSource`, and the engine cannot tell them apart.
 *
 * What is signed is a fence, because a signature outlives the decision to give it: every PUT fixes its content-length,
 * its checksum where the store takes one, and `if-none-match: *` where the store honours it; every GET of a recorded
 * object fixes its ETag. `range` is sent but not signed, so that a read cut short can go on under the same signature.
 */

export type { Credential } from "./sigv4.ts";

/** Where and what the store is; holds no secret. */
export interface StoreAccess {
  /** Scheme and host, for example `https://s3.eu-central-1.amazonaws.com`. */
  readonly endpoint: string;
  readonly region: string;
  readonly bucket: string;
  readonly addressing: "path" | "virtual-host";
  readonly traits: StoreTraits;
  /** Left out: what is asked of every store's certificate is enough. */
  readonly trust?: StoreTrust | undefined;
}

/** Gives one signed request per operation, in their order. Faults: those of the hub or of signing; never of the store. */
export interface RequestSource {
  sign(operations: readonly Operation[]): Promise<SignedRequest[]>;
  /** Where the keys are here: nothing has to be waited for. Null while the key has ended and `sign` gets another one. */
  signNow?(operation: Operation): SignedRequest | null;
}

export interface UnsignedRequest {
  method: SignedRequest["method"];
  /** Without any query. */
  url: string;
  query: QueryPairs;
  /** Every header to send, lower-case names. */
  headers: Record<string, string>;
}

/** The S3 name of an operation, as used in faults, policies and the profile test. */
export const S3_NAMES = {
  create: "CreateMultipartUpload",
  part: "UploadPart",
  put: "PutObject",
  parts: "ListParts",
  complete: "CompleteMultipartUpload",
  abort: "AbortMultipartUpload",
  head: "HeadObject",
  delete: "DeleteObject",
  share: "GetObject",
  get: "GetObject",
} as const satisfies Record<Operation["op"], string>;

/** Carries the nonce of an upload, so that an object whose Complete lost its answer can be recognised. */
export const NONCE_METADATA = "tidemark-nonce";
export const NONCE_HEADER = `x-amz-meta-${NONCE_METADATA}`;
export const CHECKSUM_HEADER = "x-amz-checksum-crc32";
/** Asks for the sum that the store keeps of an object. */
export const SUM_WANTED = { "x-amz-checksum-mode": "ENABLED" } as const;
/** What a store may answer to a header that it does not know. */
export const NOT_FOR_ALL: ReadonlySet<number> = new Set([400, 403, 501]);
const MD5_HEADER = "content-md5";
/** Default life of a signature: long enough for a slow part, short enough to matter. */
export const DEFAULT_LIFETIME_MS = 3_600_000;
const PARTS_PER_PAGE = 1000;

/** Sent, but not part of the signature (see above). */
const UNSIGNED_HEADERS: ReadonlySet<string> = new Set(["range"]);

/**
 * Whether the bucket goes into the path, whatever the profile says: a bucket with dots cannot be a host label under TLS
 * certificates, and an address of digits has no labels at all.
 */
export function isPathAddressed({ endpoint, addressing, bucket }: Omit<StoreAccess, "traits" | "region">): boolean {
  if (addressing === "path") return true;
  const { protocol, hostname, pathname } = new URL(endpoint);
  // A store below a path of its own has no host for each bucket.
  return (
    pathname !== "/" || (protocol === "https:" && bucket.includes(".")) || /^(\d+(\.\d+){3}|\[.*\])$/.test(hostname)
  );
}

/** A segment that a URL does not keep. */
const DOTS = /(?:^|\/)\.\.?(?:\/|$)/;

/** Where a key lives: the origin and the encoded path. */
export function locate(access: StoreAccess, key: string): { origin: string; path: string } {
  if (DOTS.test(key)) {
    throw new Fault("HOSTILE_NAME", {
      op: "sign",
      subject: key,
      detail: "a URL cannot carry '.' or '..' as a segment",
    });
  }
  const { origin, root } = bucketRoot(access);
  return { origin, path: root + encodeKey(key) };
}

/** Where the bucket itself lives, for what is asked of all of it. */
export function locateBucket(access: StoreAccess): { origin: string; path: string } {
  const { origin, root } = bucketRoot(access);
  return { origin, path: root === "/" ? root : root.slice(0, -1) };
}

/** The path below which a store answers, without a slash at its end; empty for nearly all. It is signed as part of what is asked for. */
export const pathOf = (endpoint: string): string => new URL(endpoint).pathname.replace(/\/+$/, "");

const roots = new WeakMap<StoreAccess, { origin: string; root: string }>();

/** Where all keys of a bucket live; `root` ends with a slash. Found once: it is asked for with every signature. */
function bucketRoot(access: StoreAccess): { origin: string; root: string } {
  const known = roots.get(access);
  if (known !== undefined) return known;
  const { protocol, host } = new URL(access.endpoint);
  const found = isPathAddressed(access)
    ? { origin: `${protocol}//${host}`, root: `${pathOf(access.endpoint)}/${access.bucket}/` }
    : { origin: `${protocol}//${access.bucket}.${host}`, root: "/" };
  roots.set(access, found);
  return found;
}

interface Shape {
  method: SignedRequest["method"];
  query?: QueryPairs;
  headers?: Record<string, string>;
}

/**
 * Parts carry a CRC32 each and Complete repeats them (composite checksum): that form is accepted by AWS, R2, MinIO and
 * versitygw alike, while FULL_OBJECT with CRC32 is not. This is the one place that decides it.
 */
const checksumOnCreate = (checksum: StoreChecksum): Record<string, string> =>
  checksum === "crc32" ? { "x-amz-checksum-algorithm": "CRC32" } : {};

interface Sums {
  crc32: string;
  md5?: string | undefined;
}

/** Where the checksum is md5 and nobody computed one, nothing goes along: the bytes are as welcome without. */
function checksumOfBody(checksum: StoreChecksum, { crc32, md5 }: Sums): Record<string, string> {
  if (checksum === "crc32") return { [CHECKSUM_HEADER]: crc32ToBase64(crc32) };
  return checksum === "md5" && md5 !== undefined ? { [MD5_HEADER]: Buffer.from(md5, "hex").toString("base64") } : {};
}

const onlyIfAbsent = (traits: StoreTraits): Record<string, string> =>
  traits.conditionalWrites ? { "if-none-match": "*" } : {};

function shapeOf(operation: Operation, traits: StoreTraits): Shape {
  switch (operation.op) {
    case "create":
      return {
        method: "POST",
        query: [["uploads", ""]],
        headers: { [NONCE_HEADER]: operation.nonce, ...checksumOnCreate(operation.checksum ?? traits.checksum) },
      };
    case "part":
      return {
        method: "PUT",
        query: [
          ["partNumber", String(operation.partNumber)],
          ["uploadId", operation.uploadId],
        ],
        headers: {
          "content-length": String(operation.sizeBytes),
          ...checksumOfBody(operation.checksum ?? traits.checksum, operation),
        },
      };
    case "put":
      return {
        method: "PUT",
        headers: {
          "content-length": String(operation.sizeBytes),
          [NONCE_HEADER]: operation.nonce,
          ...checksumOfBody(operation.checksum ?? traits.checksum, operation),
          ...onlyIfAbsent(traits),
        },
      };
    case "parts":
      return {
        method: "GET",
        query: [
          ["max-parts", String(PARTS_PER_PAGE)],
          ...(operation.after > 0 ? [["part-number-marker", String(operation.after)] as const] : []),
          ["uploadId", operation.uploadId],
        ],
      };
    case "complete":
      return { method: "POST", query: [["uploadId", operation.uploadId]], headers: onlyIfAbsent(traits) };
    case "abort":
      return { method: "DELETE", query: [["uploadId", operation.uploadId]] };
    case "head":
      return { method: "HEAD" };
    case "delete":
      return { method: "DELETE" };
    case "share":
      return {
        method: "GET",
        query: [
          ["response-content-disposition", "attachment"],
          ["response-content-type", "application/octet-stream"],
        ],
      };
    case "get": {
      const headers: Record<string, string> =
        operation.isSummed === true
          ? { ...SUM_WANTED }
          : { range: `bytes=${operation.offset}-${operation.offset + operation.length - 1}` };
      if (operation.etag !== null) headers["if-match"] = operation.etag;
      const query: QueryPairs = operation.isUncoded === true ? [["response-content-encoding", "identity"]] : [];
      return { method: "GET", query, headers };
    }
  }
}

/** The request an operation becomes, before it is signed. Pure. */
export function describeOperation(access: StoreAccess, operation: Operation): UnsignedRequest {
  const { origin, path } = locate(access, operation.key);
  const { method, query = [], headers = {} } = shapeOf(operation, access.traits);
  return { method, url: origin + path, query, headers };
}

const PRINTABLE = /^[\x20-\x7e]*$/;

export interface PresignInput {
  access: StoreAccess;
  credential: Credential;
  operation: Operation;
  nowMs: number;
  lifetimeMs: number;
}

/**
 * A signed request for one operation. `headers` are all headers to send besides `host`; content-length is among them
 * as text, so a client that counts for itself (fetch) leaves that one out.
 */
export function presignOperation(input: PresignInput): SignedRequest {
  const { access, credential, operation, nowMs } = input;
  const { origin, path } = locate(access, operation.key);
  const { method, query = [], headers = {} } = shapeOf(operation, access.traits);
  const signed: Record<string, string> = {};
  for (const [name, value] of Object.entries(headers)) {
    // A line break would put words of its own into the text that is signed.
    if (!PRINTABLE.test(value)) {
      throw new Fault("BAD_INPUT", { op: "sign", subject: name, detail: "a header is printable ASCII" });
    }
    if (!UNSIGNED_HEADERS.has(name)) signed[name] = value;
  }
  // A signature does not outlive the key that it was made with.
  const leftMs = credential.endsAt === undefined ? Infinity : Math.max(1000, credential.endsAt - nowMs);
  const lifetimeMs = Math.min(input.lifetimeMs, MAX_LIFETIME_MS, leftMs);
  const url = presign(
    { method, origin, path, query, headers: signed },
    { credential, region: access.region, nowMs, lifetimeMs },
  );
  // The store counts from the whole second of the signature's date.
  const expiresAt = Math.floor(nowMs / 1000) * 1000 + Math.max(1, Math.floor(lifetimeMs / 1000)) * 1000;
  return { method, url, headers, expiresAt };
}
