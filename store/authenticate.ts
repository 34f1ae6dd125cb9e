/**
 * Authenticates requests with Signature Version 4, so that a client that signs wrongly gets a provider's error code.
 * Nothing in a request is trusted before its signature, date and signed headers are verified. Source: the S3 API
 * reference, "Authenticating Requests (AWS Signature Version 4)".
 */
import { sameText, type Credential, type CredentialBook } from "./credentials.ts";
import type { S3Request } from "./request.ts";
import { S3Error } from "./s3-error.ts";
import {
  canonicalRequest,
  requestSignature,
  scopeText,
  signingKey,
  type CredentialScope,
  type SigningContext,
} from "./sigv4.ts";

/** How the body is authenticated. `sha256Hex` is lower case; chunked bodies may be signed and may have trailers. */
type PayloadRule =
  | { readonly kind: "unsigned" }
  | { readonly kind: "hashed"; readonly sha256Hex: string }
  | { readonly kind: "chunked"; readonly signed: "signed" | "unsigned"; readonly trailer: "trailer" | "none" };

/** A request with a valid signature. */
export type Identity = {
  readonly accessKey: string;
  readonly payload: PayloadRule;
  readonly signing: SigningContext;
  /** The request's own signature, with which the chain of chunk signatures begins. */
  readonly seedSignature: string;
  /** Request headers, plus those that a presigned URL carries in its query. */
  readonly headers: ReadonlyMap<string, string>;
};

/** Inputs of authentication. */
export type AuthenticateOptions = {
  readonly credentials: CredentialBook;
  readonly nowMs: number;
  /** If set, credential scopes of other regions are refused, as by most providers. */
  readonly region: string | undefined;
};

const MAX_SKEW_MS = 15 * 60_000;
const MAX_EXPIRES_SECONDS = 604_800;

type SignedParts = {
  readonly accessKey: string;
  readonly scope: CredentialScope;
  readonly signedHeaders: readonly string[];
  readonly signature: string;
  readonly amzDate: string;
  readonly payloadHash: string;
  readonly expiresSeconds: number | undefined;
  readonly sessionToken: string | undefined;
};

/** Parses `20130524T000000Z` to epoch ms; undefined for any other text. */
function parseAmzDate(text: string): number | undefined {
  const match = /^(\d{4})(\d\d)(\d\d)T(\d\d)(\d\d)(\d\d)Z$/.exec(text);
  if (match === null) return undefined;
  const [, year, month, day, hour, minute, second] = match.map(Number);
  const atMs = Date.UTC(year ?? 0, (month ?? 1) - 1, day, hour, minute, second);
  return Number.isNaN(atMs) ? undefined : atMs;
}

function parseCredential(text: string, malformed: () => S3Error): { accessKey: string; scope: CredentialScope } {
  const pieces = text.split("/");
  const [date, region, service, terminator] = pieces.slice(-4);
  const accessKey = pieces.slice(0, -4).join("/");
  if (pieces.length < 5 || accessKey === "" || date === undefined || region === undefined) throw malformed();
  if (service !== "s3" || terminator !== "aws4_request") throw malformed();
  return { accessKey, scope: { date, region, service } };
}

function readHeaderAuth(request: S3Request, authorization: string): SignedParts {
  const malformed = (): S3Error =>
    new S3Error("AuthorizationHeaderMalformed", "The authorization header is malformed; expected AWS4-HMAC-SHA256.");
  if (!authorization.startsWith("AWS4-HMAC-SHA256 ")) throw malformed();
  const fields = new Map(
    authorization
      .slice("AWS4-HMAC-SHA256 ".length)
      .split(",")
      .map((piece) => {
        const equals = piece.indexOf("=");
        return [piece.slice(0, equals).trim(), piece.slice(equals + 1).trim()] as const;
      }),
  );
  const signature = fields.get("Signature");
  const signedHeaders = fields.get("SignedHeaders");
  if (signature === undefined || signedHeaders === undefined) throw malformed();
  const payloadHash = request.headers.get("x-amz-content-sha256");
  if (payloadHash === undefined) {
    throw new S3Error("InvalidRequest", "Missing required header for this request: x-amz-content-sha256");
  }
  const dateHeader = request.headers.get("x-amz-date") ?? httpDateToAmz(request.headers.get("date"));
  if (dateHeader === undefined) {
    throw new S3Error("AccessDenied", "AWS authentication requires a valid Date or x-amz-date header");
  }
  return {
    ...parseCredential(fields.get("Credential") ?? "", malformed),
    signedHeaders: signedHeaders.toLowerCase().split(";"),
    signature,
    amzDate: dateHeader,
    payloadHash,
    expiresSeconds: undefined,
    sessionToken: request.headers.get("x-amz-security-token"),
  };
}

function httpDateToAmz(text: string | undefined): string | undefined {
  if (text === undefined || Number.isNaN(Date.parse(text))) return undefined;
  return `${new Date(text).toISOString().slice(0, 19).replaceAll(/[-:]/g, "")}Z`;
}

function readQueryAuth(request: S3Request): SignedParts {
  const malformed = (): S3Error =>
    new S3Error("AuthorizationQueryParametersError", "The presigned query parameters are incomplete or malformed.");
  const field = (name: string): string => {
    const value = request.query.get(name);
    if (value === undefined || value === "") throw malformed();
    return value;
  };
  if (field("X-Amz-Algorithm") !== "AWS4-HMAC-SHA256") throw malformed();
  const expiresSeconds = Number(field("X-Amz-Expires"));
  if (!Number.isInteger(expiresSeconds) || expiresSeconds < 0) throw malformed();
  if (expiresSeconds > MAX_EXPIRES_SECONDS) {
    throw new S3Error("AuthorizationQueryParametersError", "X-Amz-Expires must be less than a week (in seconds)");
  }
  return {
    ...parseCredential(field("X-Amz-Credential"), malformed),
    signedHeaders: field("X-Amz-SignedHeaders").toLowerCase().split(";"),
    signature: field("X-Amz-Signature"),
    amzDate: field("X-Amz-Date"),
    payloadHash:
      request.headers.get("x-amz-content-sha256") ?? request.query.get("X-Amz-Content-Sha256") ?? "UNSIGNED-PAYLOAD",
    expiresSeconds,
    sessionToken: request.query.get("X-Amz-Security-Token"),
  };
}

function checkDate(parts: SignedParts, nowMs: number): void {
  const signedAtMs = parseAmzDate(parts.amzDate);
  if (signedAtMs === undefined || !parts.amzDate.startsWith(parts.scope.date)) {
    throw new S3Error("AccessDenied", "AWS authentication requires a valid x-amz-date that agrees with the credential");
  }
  const times = { ServerTime: new Date(nowMs).toISOString() };
  if (parts.expiresSeconds !== undefined) {
    if (signedAtMs - nowMs > MAX_SKEW_MS) {
      throw new S3Error("AccessDenied", "Request is not yet valid", { fields: times });
    }
    const endsAtMs = signedAtMs + parts.expiresSeconds * 1000;
    if (nowMs > endsAtMs) {
      const fields = {
        ...times,
        "X-Amz-Expires": String(parts.expiresSeconds),
        Expires: new Date(endsAtMs).toISOString(),
      };
      throw new S3Error("AccessDenied", "Request has expired", { fields });
    }
    return;
  }
  if (Math.abs(signedAtMs - nowMs) > MAX_SKEW_MS) {
    throw new S3Error(
      "RequestTimeTooSkewed",
      "The difference between the request time and the current time is too large.",
      {
        fields: { ...times, RequestTime: parts.amzDate, MaxAllowedSkewMilliseconds: String(MAX_SKEW_MS) },
      },
    );
  }
}

function checkSignedHeaders(request: S3Request, parts: SignedParts): void {
  const signed = new Set(parts.signedHeaders);
  const missing = [...request.headers.keys()].filter((name) => name.startsWith("x-amz-") && !signed.has(name));
  if (!signed.has("host")) missing.push("host");
  if (missing.length > 0) {
    throw new S3Error("AccessDenied", "There were headers present in the request which were not signed", {
      fields: { HeadersNotSigned: missing.join(", ") },
    });
  }
}

function findCredential(parts: SignedParts, options: AuthenticateOptions): Credential {
  const credential = options.credentials.get(parts.accessKey);
  if (credential === undefined) {
    throw new S3Error("InvalidAccessKeyId", "The AWS Access Key Id you provided does not exist in our records.");
  }
  if (!sameText(credential.sessionToken ?? "", parts.sessionToken ?? "")) {
    throw new S3Error("InvalidToken", "The provided token is malformed or otherwise invalid.");
  }
  if (credential.expiresAtMs !== undefined && options.nowMs >= credential.expiresAtMs) {
    throw new S3Error("ExpiredToken", "The provided token has expired.");
  }
  return credential;
}

/** Parses an `x-amz-content-sha256` value. Throws InvalidArgument for a value that S3 does not define. */
function readPayloadRule(value: string): PayloadRule {
  if (value === "UNSIGNED-PAYLOAD") return { kind: "unsigned" };
  if (value === "STREAMING-AWS4-HMAC-SHA256-PAYLOAD") return { kind: "chunked", signed: "signed", trailer: "none" };
  if (value === "STREAMING-AWS4-HMAC-SHA256-PAYLOAD-TRAILER") {
    return { kind: "chunked", signed: "signed", trailer: "trailer" };
  }
  if (value === "STREAMING-UNSIGNED-PAYLOAD-TRAILER")
    return { kind: "chunked", signed: "unsigned", trailer: "trailer" };
  if (/^[0-9a-f]{64}$/.test(value)) return { kind: "hashed", sha256Hex: value };
  throw new S3Error(
    "InvalidArgument",
    "x-amz-content-sha256 must be UNSIGNED-PAYLOAD, a STREAMING- value, or a valid sha256 value.",
  );
}

function effectiveHeaders(request: S3Request, presigned: boolean): ReadonlyMap<string, string> {
  if (!presigned) return request.headers;
  const headers = new Map(request.headers);
  for (const [name, value] of request.query) {
    const lower = name.toLowerCase();
    if (lower.startsWith("x-amz-") && !headers.has(lower)) headers.set(lower, value);
  }
  return headers;
}

/**
 * Verifies a request's signature, from its Authorization header or its presigned query. Throws the S3 error that a
 * provider returns for each kind of mistake.
 */
export function authenticate(request: S3Request, options: AuthenticateOptions): Identity {
  const authorization = request.headers.get("authorization");
  const presigned = authorization === undefined && request.query.has("X-Amz-Signature");
  if (authorization === undefined && !presigned) throw new S3Error("AccessDenied", "Access Denied");
  const parts = authorization === undefined ? readQueryAuth(request) : readHeaderAuth(request, authorization);
  if (options.region !== undefined && parts.scope.region !== options.region) {
    throw new S3Error(
      "AuthorizationHeaderMalformed",
      `The authorization header is malformed; the region is wrong; expecting '${options.region}'`,
      { fields: { Region: options.region }, headers: { "x-amz-bucket-region": options.region } },
    );
  }
  const credential = findCredential(parts, options);
  checkDate(parts, options.nowMs);
  checkSignedHeaders(request, parts);
  const signing = { key: signingKey(credential.secretKey, parts.scope), amzDate: parts.amzDate, scope: parts.scope };
  const canonical = canonicalRequest({
    ...request,
    signedHeaders: parts.signedHeaders,
    payloadHash: parts.payloadHash,
  });
  if (!sameText(requestSignature(signing, canonical), parts.signature)) {
    throw new S3Error(
      "SignatureDoesNotMatch",
      "The request signature we calculated does not match the signature you provided. Check your key and signing method.",
      { fields: { CanonicalRequest: redactQuery(canonical), Scope: scopeText(parts.scope) } },
    );
  }
  return {
    accessKey: parts.accessKey,
    payload: readPayloadRule(parts.payloadHash),
    signing,
    seedSignature: parts.signature,
    headers: effectiveHeaders(request, presigned),
  };
}

/** Removes session tokens from a canonical request, because error bodies must not contain secrets. */
function redactQuery(canonical: string): string {
  return canonical.replace(/(X-Amz-Security-Token=)[^&\n]*/g, "$1-").replace(/(x-amz-security-token:)[^\n]*/g, "$1-");
}
