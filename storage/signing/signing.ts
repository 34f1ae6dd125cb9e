import { Fault } from "#protocol/faults/fault.ts";
import type { StoreTrust } from "#protocol/wire/store-trust.ts";
import type { StoreChecksum } from "#protocol/wire/store-checksum.ts";
import type { Operation, SignedRequest, StoreTraits } from "#protocol/wire/operations.ts";
import { crc32ToBase64 } from "../checksums/crc32.ts";
import { encodeKey, MAX_LIFETIME_MS, presign, type Credential, type QueryPairs } from "./sigv4.ts";

/**
 * Turns an operation into a signed request that any HTTP client can send. A `RequestSource` hides who holds the key: the
 * node itself in direct mode, otherwise the hub. A signature outlives the decision to grant it, so it permits as little
 * as the store allows. Every PUT signs its content-length, its checksum where the store takes one, and `if-none-match: *`
 * where the store honors it. Every GET of a recorded object signs its ETag. `range` is sent unsigned, so that an
 * interrupted read can resume.
 */

export type { Credential } from "./sigv4.ts";

/** A store's address and traits, without any secret. */
export interface StoreAccess {
  /** Scheme and host, for example `https://s3.eu-central-1.amazonaws.com`. */
  readonly endpoint: string;
  readonly region: string;
  readonly bucket: string;
  readonly addressing: "path" | "virtual-host";
  readonly traits: StoreTraits;
  /** Requirements on the store's TLS certificate. Left out: the usual checks suffice. */
  readonly trust?: StoreTrust | undefined;
}

/** Returns one signed request per operation, in order. Rejects with Faults of the hub or of signing, never of the store. */
export interface RequestSource {
  sign(operations: readonly Operation[]): Promise<SignedRequest[]>;
  /** Signs without waiting, where the keys are in this process. Null while the key has expired and `sign` must renew it. */
  signNow?(operation: Operation): SignedRequest | null;
}

export interface UnsignedRequest {
  method: SignedRequest["method"];
  /** Without the query. */
  url: string;
  query: QueryPairs;
  /** All headers to send, with lower-case names. */
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

/** Metadata with the upload's nonce. It identifies our object when the answer to CompleteMultipartUpload was lost. */
export const NONCE_METADATA = "tidemark-nonce";
export const NONCE_HEADER = `x-amz-meta-${NONCE_METADATA}`;
export const CHECKSUM_HEADER = "x-amz-checksum-crc32";
/** Asks for the checksum that the store holds for an object. */
export const SUM_WANTED = { "x-amz-checksum-mode": "ENABLED" } as const;
/** Statuses with which stores refuse a header that they do not know. */
export const NOT_FOR_ALL: ReadonlySet<number> = new Set([400, 403, 501]);
const MD5_HEADER = "content-md5";
/** Default lifetime of a signature: long enough for a slow part, short enough to limit misuse. */
export const DEFAULT_LIFETIME_MS = 3_600_000;
const PARTS_PER_PAGE = 1000;

/** Headers sent but not signed, so that an interrupted read can resume (see above). */
const UNSIGNED_HEADERS: ReadonlySet<string> = new Set(["range"]);

/**
 * Returns whether the bucket goes into the path. Some endpoints override the profile: a TLS wildcard certificate covers
 * no bucket name with dots, and an IP address has no subdomains.
 */
export function isPathAddressed({ endpoint, addressing, bucket }: Omit<StoreAccess, "traits" | "region">): boolean {
  if (addressing === "path") return true;
  const { protocol, hostname, pathname } = new URL(endpoint);
  // A store below a URL path has no host name per bucket.
  return (
    pathname !== "/" || (protocol === "https:" && bucket.includes(".")) || /^(\d+(\.\d+){3}|\[.*\])$/.test(hostname)
  );
}

/** Matches `.` and `..` segments, which URL parsers remove. */
const DOTS = /(?:^|\/)\.\.?(?:\/|$)/;

/**
 * Returns the origin and the encoded path of a key.
 * @throws Fault HOSTILE_NAME for a key with a `.` or `..` segment
 */
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

/** Returns the origin and path of the bucket itself, for bucket-level operations. */
export function locateBucket(access: StoreAccess): { origin: string; path: string } {
  const { origin, root } = bucketRoot(access);
  return { origin, path: root === "/" ? root : root.slice(0, -1) };
}

/** Returns the endpoint's own path without trailing slashes; empty for nearly all stores. It is part of the signed path. */
export const pathOf = (endpoint: string): string => new URL(endpoint).pathname.replace(/\/+$/, "");

const roots = new WeakMap<StoreAccess, { origin: string; root: string }>();

/** Returns the origin and path below which all keys lie; `root` ends with a slash. Cached, because every signature needs it. */
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
 * Returns the checksum headers of CreateMultipartUpload. Parts carry a CRC32 each and Complete repeats them (composite
 * checksum). AWS, R2, MinIO and versitygw all accept that form, but not FULL_OBJECT with CRC32. Decided only here.
 */
const checksumOnCreate = (checksum: StoreChecksum): Record<string, string> =>
  checksum === "crc32" ? { "x-amz-checksum-algorithm": "CRC32" } : {};

interface Sums {
  crc32: string;
  md5?: string | undefined;
}

/** Returns the checksum headers of a body. A body whose MD5 was not computed goes without a checksum. */
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
          // A browser would undo the encoding, and save other bytes than those that are stored.
          ["response-content-encoding", "identity"],
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

/** Returns the unsigned request for an operation. Pure. */
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
 * Returns a signed request for one operation. `headers` holds all headers to send except `host`. It includes
 * content-length, which clients that set it themselves (fetch) must drop.
 * @throws Fault HOSTILE_NAME, BAD_INPUT
 */
export function presignOperation(input: PresignInput): SignedRequest {
  const { access, credential, operation, nowMs } = input;
  const { origin, path } = locate(access, operation.key);
  const { method, query = [], headers = {} } = shapeOf(operation, access.traits);
  const signed: Record<string, string> = {};
  for (const [name, value] of Object.entries(headers)) {
    // A line break in a value would inject lines into the text that is signed.
    if (!PRINTABLE.test(value)) {
      throw new Fault("BAD_INPUT", { op: "sign", subject: name, detail: "a header is printable ASCII" });
    }
    if (!UNSIGNED_HEADERS.has(name)) signed[name] = value;
  }
  // The store rejects a signature once its key has expired.
  const leftMs = credential.endsAt === undefined ? Infinity : Math.max(1000, credential.endsAt - nowMs);
  const lifetimeMs = Math.min(input.lifetimeMs, MAX_LIFETIME_MS, leftMs);
  const url = presign(
    { method, origin, path, query, headers: signed },
    { credential, region: access.region, nowMs, lifetimeMs },
  );
  // The signature's date has whole seconds, and the store counts the lifetime from it.
  const expiresAt = Math.floor(nowMs / 1000) * 1000 + Math.max(1, Math.floor(lifetimeMs / 1000)) * 1000;
  return { method, url, headers, expiresAt };
}
