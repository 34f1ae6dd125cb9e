import { createHmac, hash } from "node:crypto";
import { createHmacKey, type HmacKey } from "../checksums/hmac.ts";
import type { KeyRing } from "./key-ring.ts";

/**
 * AWS Signature Version 4 for S3 and for the Security Token Service. Own code because a hub signs every part of every
 * node: a signature takes microseconds here, an order of magnitude less than in the SDK's presigner. Pure: no clock, no
 * I/O. Tests compare it with AWS's published examples and with the SDK's own signer.
 */

export interface Credential {
  readonly accessKeyId: string;
  readonly secretAccessKey: string;
  readonly sessionToken?: string;
  /** Expiry of a temporary key, epoch ms. Absent: the key never expires. */
  readonly endsAt?: number;
}

/** Source of temporary keys, of a role or a session, that are renewed while in use. Faults: KEYS_REFUSED, KEYS_UNAVAILABLE. */
export type CredentialSource = KeyRing<Credential>;

/** Returns a source of one key that never expires. */
export const fixedCredential = (credential: Credential): CredentialSource => ({
  now: () => credential,
  fresh: async () => credential,
  ended: () => false,
});

export type QueryPairs = readonly (readonly [name: string, value: string])[];

export interface RequestToSign {
  method: string;
  /** `https://host[:port]`, without a path. */
  origin: string;
  /** Already encoded, starting with `/`. S3 does not encode it a second time. */
  path: string;
  query: QueryPairs;
  /** Lower-case names; all of these headers are signed. `host` is added. */
  headers: Readonly<Record<string, string>>;
}

export interface SigningScope {
  credential: Credential;
  region: string;
  /** Default: `s3`. */
  service?: "s3" | "sts";
  nowMs: number;
}

export const UNSIGNED_PAYLOAD = "UNSIGNED-PAYLOAD";
/** SHA-256 of an empty body. */
export const EMPTY_PAYLOAD_HASH = "e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855";
/** The longest lifetime the protocol allows a presigned URL. */
export const MAX_LIFETIME_MS = 7 * 86_400_000;

const ALGORITHM = "AWS4-HMAC-SHA256";

const NEEDS_NO_CODE = /^[\w.~-]*$/;

/** Encodes text by RFC 3986 as SigV4 requires: everything except letters, digits and `-._~`. */
export const encodeRfc3986 = (text: string): string =>
  NEEDS_NO_CODE.test(text)
    ? text
    : encodeURIComponent(text).replace(/[!'()*]/g, (sign) => `%${sign.charCodeAt(0).toString(16).toUpperCase()}`);

const KEY_NEEDS_NO_CODE = /^[\w.~/-]*$/;

/** Encodes an object key as a path: each byte once, and `/` unchanged. */
export const encodeKey = (key: string): string =>
  KEY_NEEDS_NO_CODE.test(key) ? key : encodeRfc3986(key).replaceAll("%2F", "/");

/** Returns for example `20130524T000000Z`. */
function amzDate(nowMs: number): string {
  const iso = new Date(nowMs).toISOString();
  return `${iso.slice(0, 4)}${iso.slice(5, 7)}${iso.slice(8, 13)}${iso.slice(14, 16)}${iso.slice(17, 19)}Z`;
}

const hmac = (key: string | Buffer, text: string): Buffer => createHmac("sha256", key).update(text).digest();

/** Values that all signatures of one credential in the same second share. */
interface Stamp {
  /** Epoch second; a request in another second needs a new stamp. */
  second: number;
  region: string;
  service: string;
  /** `20130524T000000Z` */
  date: string;
  /** Credential scope: `20130524/us-east-1/s3/aws4_request`. */
  place: string;
  key: HmacKey;
  /** Presigned queries of requests without a query of their own, keyed by lifetime and signed header names. */
  queries: Map<string, string>;
}

/** The newest stamp of each credential. A hub or a node signs many requests in the same second. */
const stamps = new WeakMap<Credential, Stamp>();

function stampOf({ credential, region, service = "s3", nowMs }: SigningScope): Stamp {
  const second = Math.floor(nowMs / 1000);
  const known = stamps.get(credential);
  if (known !== undefined && known.second === second && known.region === region && known.service === service) {
    return known;
  }
  const date = amzDate(nowMs);
  const day = date.slice(0, 8);
  const key = signingKey(credential, { day, region, service });
  const place = `${day}/${region}/${service}/aws4_request`;
  const stamp = { second, region, service, date, place, key, queries: new Map<string, string>() };
  stamps.set(credential, stamp);
  return stamp;
}

const MOST_CACHED_KEYS = 256;
const cachedKeys = new Map<string, HmacKey>();

/** Returns the derived signing key. The cache is keyed by a hash, so that it holds no secret text. */
function signingKey(
  { accessKeyId, secretAccessKey }: Credential,
  place: { day: string; region: string; service: string },
): HmacKey {
  const { day, region, service } = place;
  const cacheKey = hash("sha256", [accessKeyId, secretAccessKey, day, region, service].join("\n"));
  const cached = cachedKeys.get(cacheKey);
  if (cached !== undefined) return cached;
  const bytes = hmac(hmac(hmac(hmac(`AWS4${secretAccessKey}`, day), region), service), "aws4_request");
  const key = createHmacKey(bytes);
  if (cachedKeys.size >= MOST_CACHED_KEYS) cachedKeys.clear();
  cachedKeys.set(cacheKey, key);
  return key;
}

const byText = (a: string, b: string): number => (a < b ? -1 : a > b ? 1 : 0);

function canonicalQuery(query: QueryPairs): string {
  return query
    .map(([name, value]): [string, string] => [encodeRfc3986(name), encodeRfc3986(value)])
    .sort((a, b) => byText(a[0], b[0]) || byText(a[1], b[1]))
    .map(([name, value]) => `${name}=${value}`)
    .join("&");
}

/** Trims a header value and collapses runs of spaces, as SigV4's canonical form requires. */
const canonicalValue = (value: string): string => value.trim().replace(/ {2,}/g, " ");

interface CanonicalHeaders {
  lines: string;
  names: string;
}

const MOST_ORDERS = 64;
/** Sorted header names by their unsorted list. Requests repeat a few combinations of headers, so sorting is cached. */
const orders = new Map<string, readonly string[]>();

function signedNames(headers: readonly string[]): readonly string[] {
  const together = headers.join("\n");
  const known = orders.get(together);
  if (known !== undefined) return known;
  const names = [...headers, "host"].sort(byText);
  if (orders.size >= MOST_ORDERS) orders.clear();
  orders.set(together, names);
  return names;
}

function canonicalHeaders(request: RequestToSign): CanonicalHeaders {
  const names = signedNames(Object.keys(request.headers));
  const host = request.origin.slice(request.origin.indexOf("//") + 2);
  let lines = "";
  for (const name of names)
    lines += `${name}:${name === "host" ? host : canonicalValue(request.headers[name] ?? "")}\n`;
  return { lines, names: names.join(";") };
}

interface Canonical {
  headers: CanonicalHeaders;
  query: string;
  payloadHash: string;
}

function signatureOf(request: RequestToSign, { date, place, key }: Stamp, canonical: Canonical): string {
  const { headers, query, payloadHash } = canonical;
  const text = `${request.method}\n${request.path}\n${query}\n${headers.lines}\n${headers.names}\n${payloadHash}`;
  const toSign = `${ALGORITHM}\n${date}\n${place}\n${hash("sha256", text)}`;
  return key.sign(toSign);
}

/**
 * Returns a URL that carries its own signature for `lifetimeMs` (at most seven days). The sender must send exactly the
 * headers of the request; the body is not signed.
 */
export function presign(request: RequestToSign, scope: SigningScope & { lifetimeMs: number }): string {
  const stamp = stampOf(scope);
  const headers = canonicalHeaders(request);
  const lifetime = String(Math.max(1, Math.floor(Math.min(scope.lifetimeMs, MAX_LIFETIME_MS) / 1000)));
  const query = presignedQuery({ request, credential: scope.credential, stamp, names: headers.names, lifetime });
  const signature = signatureOf(request, stamp, { headers, query, payloadHash: UNSIGNED_PAYLOAD });
  return `${request.origin}${request.path}?${query}&X-Amz-Signature=${signature}`;
}

/** Returns the query without the signature. Cached for requests without a query, such as those of thousands of small objects. */
function presignedQuery(about: {
  request: RequestToSign;
  credential: Credential;
  stamp: Stamp;
  names: string;
  lifetime: string;
}): string {
  const { request, credential, stamp, names, lifetime } = about;
  const isPlain = request.query.length === 0;
  const known = isPlain ? stamp.queries.get(`${lifetime} ${names}`) : undefined;
  if (known !== undefined) return known;
  const pairs: [string, string][] = [
    ["X-Amz-Algorithm", ALGORITHM],
    ["X-Amz-Credential", `${credential.accessKeyId}/${stamp.place}`],
    ["X-Amz-Date", stamp.date],
    ["X-Amz-Expires", lifetime],
    ["X-Amz-SignedHeaders", names],
  ];
  if (credential.sessionToken !== undefined) pairs.push(["X-Amz-Security-Token", credential.sessionToken]);
  const query = canonicalQuery([...pairs, ...request.query]);
  if (isPlain) stamp.queries.set(`${lifetime} ${names}`, query);
  return query;
}

/**
 * Signs a request with an `Authorization` header. Returns the given headers plus `x-amz-date`, `x-amz-content-sha256`,
 * `authorization` and, for a temporary key, the session token.
 */
export function signHeaders(
  request: RequestToSign,
  scope: SigningScope & { payloadHash: string },
): Record<string, string> {
  const { credential, payloadHash } = scope;
  const stamp = stampOf(scope);
  const headers: Record<string, string> = {
    ...request.headers,
    "x-amz-content-sha256": payloadHash,
    "x-amz-date": stamp.date,
  };
  if (credential.sessionToken !== undefined) headers["x-amz-security-token"] = credential.sessionToken;
  const signed = canonicalHeaders({ ...request, headers });
  const canonical = { headers: signed, query: canonicalQuery(request.query), payloadHash };
  const signature = signatureOf(request, stamp, canonical);
  const place = `${credential.accessKeyId}/${stamp.place}`;
  headers["authorization"] = `${ALGORITHM} Credential=${place}, SignedHeaders=${signed.names}, Signature=${signature}`;
  return headers;
}
