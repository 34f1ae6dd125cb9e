/**
 * Signature Version 4, computed by the store itself so that it refuses what a provider refuses. Pure functions over
 * strings, without clock or I/O, tested with the test vectors in the S3 documentation.
 */
import { createHash, createHmac } from "node:crypto";
import { queryPairs } from "./request.ts";

/** `20130524/us-east-1/s3/aws4_request` in parts. */
export type CredentialScope = { readonly date: string; readonly region: string; readonly service: string };

/** Inputs of the canonical request. */
export type CanonicalInput = {
  readonly method: string;
  readonly rawPath: string;
  readonly rawQuery: string;
  readonly headers: ReadonlyMap<string, string>;
  readonly signedHeaders: readonly string[];
  readonly payloadHash: string;
};

/** Returns the SHA-256 in lower-case hex. */
export function sha256Hex(data: string | Buffer): string {
  return createHash("sha256").update(data).digest("hex");
}

/** The SHA-256 of an empty body. */
export const EMPTY_SHA256 = sha256Hex("");

function hmac(key: string | Buffer, text: string): Buffer {
  return createHmac("sha256", key).update(text).digest();
}

function percentEncode(text: string): string {
  return encodeURIComponent(text).replace(
    /[!'()*]/g,
    (character) => `%${character.charCodeAt(0).toString(16).toUpperCase()}`,
  );
}

/** Returns the path with every segment decoded and re-encoded once. S3 signs without normalizing dots or slashes. */
export function canonicalPath(rawPath: string): string {
  return rawPath
    .split("/")
    .map((segment) => percentEncode(decodeURIComponent(segment)))
    .join("/");
}

function compareText(left: string, right: string): number {
  if (left === right) return 0;
  return left < right ? -1 : 1;
}

/** Returns the query sorted by encoded name, then value, without the signature itself. */
export function canonicalQuery(rawQuery: string): string {
  return queryPairs(rawQuery)
    .filter(([name]) => name !== "X-Amz-Signature")
    .map(([name, value]) => [percentEncode(name), percentEncode(value)] as const)
    .sort((left, right) => compareText(left[0], right[0]) || compareText(left[1], right[1]))
    .map(([name, value]) => `${name}=${value}`)
    .join("&");
}

/** Returns the canonical request, whose hash is signed. */
export function canonicalRequest(input: CanonicalInput): string {
  const headerLines = input.signedHeaders.map(
    (name) => `${name}:${(input.headers.get(name) ?? "").trim().replace(/ +/g, " ")}\n`,
  );
  return [
    input.method,
    canonicalPath(input.rawPath),
    canonicalQuery(input.rawQuery),
    headerLines.join(""),
    input.signedHeaders.join(";"),
    input.payloadHash,
  ].join("\n");
}

/** Returns the scope as the string to sign contains it. */
export function scopeText(scope: CredentialScope): string {
  return `${scope.date}/${scope.region}/${scope.service}/aws4_request`;
}

/** Derives the signing key of a secret for one day, region and service. */
export function signingKey(secretKey: string, scope: CredentialScope): Buffer {
  const date = hmac(`AWS4${secretKey}`, scope.date);
  const region = hmac(date, scope.region);
  const service = hmac(region, scope.service);
  return hmac(service, "aws4_request");
}

/** Values that all signatures of one request share. */
export type SigningContext = { readonly key: Buffer; readonly amzDate: string; readonly scope: CredentialScope };

/** Returns the signature of a whole request, hex. */
export function requestSignature(context: SigningContext, canonical: string): string {
  const text = ["AWS4-HMAC-SHA256", context.amzDate, scopeText(context.scope), sha256Hex(canonical)].join("\n");
  return hmac(context.key, text).toString("hex");
}

/** Returns the signature of one chunk of an aws-chunked body, chained to the previous one. */
export function chunkSignature(context: SigningContext, previous: string, chunkHash: string): string {
  const scope = scopeText(context.scope);
  const text = ["AWS4-HMAC-SHA256-PAYLOAD", context.amzDate, scope, previous, EMPTY_SHA256, chunkHash].join("\n");
  return hmac(context.key, text).toString("hex");
}

/** Returns the signature of the trailing headers of an aws-chunked body. */
export function trailerSignature(context: SigningContext, previous: string, trailerHash: string): string {
  const text = ["AWS4-HMAC-SHA256-TRAILER", context.amzDate, scopeText(context.scope), previous, trailerHash].join(
    "\n",
  );
  return hmac(context.key, text).toString("hex");
}
