import { describe, expect, test } from "vitest";
import { Fault } from "#protocol/faults/fault.ts";
import type { FaultCode } from "#protocol/faults/fault-table.ts";
import { faultOfAnswer, faultOfNetwork, faultOfSdk, type HttpAnswer } from "./faults.ts";
import { PORTAL, s3Error } from "../testing/canned-server.ts";

const answer = (status: number, body = "", headers: HttpAnswer["headers"] = {}): HttpAnswer => ({
  status,
  headers,
  body: Buffer.from(body),
});
const errorAnswer = (status: number, code: string, more = ""): HttpAnswer =>
  answer(status, String(s3Error(status, code, more).body), { "content-type": "application/xml" });
const codeOf = (op: string, given: HttpAnswer): FaultCode => faultOfAnswer({ op, answer: given }).code;

describe("S3 error codes", () => {
  test.each<[number, string, FaultCode]>([
    [404, "NoSuchKey", "NO_SUCH_KEY"],
    [404, "NoSuchBucket", "NO_SUCH_BUCKET"],
    [404, "NoSuchUpload", "NO_SUCH_UPLOAD"],
    [403, "AccessDenied", "ACCESS_DENIED"],
    [403, "InvalidAccessKeyId", "BAD_CREDENTIALS"],
    [403, "SignatureDoesNotMatch", "BAD_CREDENTIALS"],
    [400, "ExpiredToken", "CREDENTIALS_EXPIRED"],
    [404, "XAdminUserNotFound", "BAD_CREDENTIALS"],
    [403, "RequestTimeTooSkewed", "CLOCK_SKEW"],
    [400, "AuthorizationQueryParametersError", "WRONG_REGION"],
    [301, "PermanentRedirect", "WRONG_REGION"],
    [400, "AuthorizationHeaderMalformed", "WRONG_REGION"],
    [503, "SlowDown", "THROTTLED"],
    [429, "TooManyRequests", "THROTTLED"],
    [400, "RequestRateLimitExceeded", "THROTTLED"],
    [500, "InternalError", "STORE_UNAVAILABLE"],
    [408, "RequestCanceled", "STORE_UNAVAILABLE"],
    [409, "OperationAborted", "STORE_UNAVAILABLE"],
    [409, "ConditionalRequestConflict", "STORE_UNAVAILABLE"],
    [507, "XMinioStorageFull", "STORE_UNAVAILABLE"],
    [400, "RequestTimeout", "STALLED"],
    [400, "IncompleteBody", "LINK_DOWN"],
    [400, "ClientDisconnect", "LINK_DOWN"],
    [410, "DisconnectError", "LINK_DOWN"],
    [400, "BadDigest", "CHECKSUM_MISMATCH"],
    [400, "EntityTooLarge", "TOO_LARGE"],
    [501, "NotImplemented", "UNSUPPORTED"],
    [400, "InvalidArgument", "UNSUPPORTED"],
    [400, "InvalidDigest", "CHECKSUM_MISMATCH"],
    [503, "ServiceUnavailable", "STORE_UNAVAILABLE"],
    [429, "SlowDown", "THROTTLED"],
    [307, "TemporaryRedirect", "STORE_UNAVAILABLE"],
    [409, "NeverHeardOf", "STORE_UNAVAILABLE"],
    [410, "NeverHeardOf", "STORE_UNAVAILABLE"],
    [408, "NeverHeardOf", "STORE_UNAVAILABLE"],
    [418, "constructor", "UNSUPPORTED"],
    [599, "NeverHeardOf", "STORE_UNAVAILABLE"],
  ])("%i %s is %s", (status, s3Code, expected) => {
    expect(codeOf("UploadPart", errorAnswer(status, s3Code))).toBe(expected);
  });

  test("what the protocol calls transient can be tried again, what needs a person cannot", () => {
    const retryOf = (status: number, code: string) =>
      faultOfAnswer({ op: "UploadPart", answer: errorAnswer(status, code) }).retry;
    for (const [status, code] of [
      [408, "RequestCanceled"],
      [400, "IncompleteBody"],
      [400, "BadDigest"],
    ] as const) {
      expect(retryOf(status, code)).not.toBe("never");
    }
    for (const [status, code] of [
      [403, "AccessDenied"],
      [404, "NoSuchBucket"],
      [400, "InvalidRequest"],
    ] as const) {
      expect(retryOf(status, code)).toBe("never");
    }
  });

  test("a failed condition means another object on a read, an existing one on a write", () => {
    const given = errorAnswer(412, "PreconditionFailed");
    expect(codeOf("GetObject", given)).toBe("OBJECT_CHANGED");
    expect(codeOf("PutObject", given)).toBe("ALREADY_EXISTS");
    expect(codeOf("CompleteMultipartUpload", given)).toBe("ALREADY_EXISTS");
    expect(codeOf("GetObject", answer(412))).toBe("OBJECT_CHANGED");
  });
});

describe("answers that no S3 server wrote", () => {
  test.each([200, 302, 400, 401, 403, 404, 410, 412, 511])("%i with a page is an interception", (status) => {
    expect(codeOf("PutObject", answer(status, String(PORTAL.body), { "content-type": "text/html" }))).toBe(
      "INTERCEPTED",
    );
  });

  test("407 is a proxy that wants a login, with a page or without", () => {
    for (const given of [answer(407), answer(407, String(PORTAL.body), { "content-type": "text/html" })]) {
      expect(codeOf("PutObject", given)).toBe("PROXY_LOGIN");
    }
  });

  test.each([400, 403, 404, 410])("%i without a word is not believed either", (status) => {
    const fault = faultOfAnswer({ op: "GetObject", answer: answer(status) });
    expect(fault.code).toBe("INTERCEPTED");
    expect(fault.retry).toBe("backoff");
  });

  test.each([500, 502, 503, 504, 507, 520, 521, 522, 523, 524, 525, 530])(
    "%i is tried again, page or not",
    (status) => {
      expect(codeOf("UploadPart", answer(status, "<html>bad gateway</html>"))).toBe("STORE_UNAVAILABLE");
    },
  );

  test("429 is throttling", () => {
    expect(codeOf("UploadPart", answer(429, "slow down"))).toBe("THROTTLED");
  });

  test("a document of half an error is none", () => {
    expect(codeOf("GetObject", answer(404, "<Error><Code>NoSuchKey</Code>"))).toBe("INTERCEPTED");
  });
});

describe("HEAD, which has no body to explain itself", () => {
  test.each<[number, FaultCode]>([
    [404, "NO_SUCH_KEY"],
    [403, "ACCESS_DENIED"],
    [412, "OBJECT_CHANGED"],
    [503, "STORE_UNAVAILABLE"],
    [302, "INTERCEPTED"],
    [407, "PROXY_LOGIN"],
  ])("%i is %s", (status, expected) => {
    expect(codeOf("HeadObject", answer(status))).toBe(expected);
  });

  test.each([404, 403, 401])("%i is not believed when neither its type nor its headers are a store's", (status) => {
    const plain = { "content-type": "text/plain" };
    expect(codeOf("HeadObject", answer(status, "", plain))).toBe("INTERCEPTED");
    const stores = { ...plain, "x-amz-request-id": "1" };
    expect(codeOf("HeadObject", answer(status, "", stores))).not.toBe("INTERCEPTED");
    expect(codeOf("HeadObject", answer(status, "", { "content-type": "application/xml" }))).not.toBe("INTERCEPTED");
  });

  test("is not believed when the type says page", () => {
    expect(codeOf("HeadObject", answer(404, "", { "content-type": "text/html" }))).toBe("INTERCEPTED");
  });

  test("names the region the store names", () => {
    const fault = faultOfAnswer({ op: "HeadObject", answer: answer(301, "", { "x-amz-bucket-region": "eu-west-3" }) });
    expect(fault.code).toBe("WRONG_REGION");
    expect(fault.message).toContain("eu-west-3");
  });
});

describe("signatures that are over", () => {
  const denied = errorAnswer(403, "AccessDenied");
  const dated = { ...denied, headers: { date: "Sat, 21 Nov 2026 12:00:00 GMT" } };
  const noon = Date.UTC(2026, 10, 21, 12);

  test("are told from a refusal by the store's clock", () => {
    const at = (expiresAt: number) => faultOfAnswer({ op: "UploadPart", answer: dated, expiresAt }).code;
    expect(at(noon - 1000)).toBe("SIGNATURE_EXPIRED");
    expect(at(noon + 1000)).toBe("ACCESS_DENIED");
  });

  test("are told by the two elements AWS adds", () => {
    const more = "<Expires>2026-11-21T11:00:00Z</Expires><ServerTime>2026-11-21T12:00:00Z</ServerTime>";
    expect(codeOf("UploadPart", errorAnswer(403, "AccessDenied", more))).toBe("SIGNATURE_EXPIRED");
  });
});

describe("a clock that is wrong", () => {
  const refusal = (signedAt: string) =>
    errorAnswer(
      403,
      "RequestTimeTooSkewed",
      `<RequestTime>${signedAt}</RequestTime><ServerTime>2026-11-21T12:00:00Z</ServerTime>`,
    );

  test("is said in words, from the two times of the refusal", () => {
    const say = (signedAt: string) => faultOfAnswer({ op: "UploadPart", answer: refusal(signedAt) }).message;
    expect(say("20261121T140000Z")).toContain("this machine's clock is 2 h ahead of the store's");
    expect(say("20261121T090000Z")).toContain("this machine's clock is 3 h behind the store's");
    expect(say("yesterday")).toContain("RequestTimeTooSkewed");
  });
});

describe("what a fault says", () => {
  test("carries operation, subject, status, request id and the store's own code", () => {
    const fault = faultOfAnswer({ op: "UploadPart", subject: "runs/a", answer: errorAnswer(403, "AccessDenied") });
    expect(fault.toData()).toEqual({
      code: "ACCESS_DENIED",
      op: "UploadPart",
      subject: "runs/a",
      status: 403,
      requestId: "R1",
      detail: "AccessDenied: words",
    });
  });

  test("reads Retry-After in seconds and as a date", () => {
    const seconds = answer(503, "", { "retry-after": "7" });
    expect(faultOfAnswer({ op: "PutObject", answer: seconds }).context.retryAfterMs).toBe(7000);
    const date = "Sat, 21 Nov 2026 12:00:00 GMT";
    const until = answer(503, "", { date, "retry-after": "Sat, 21 Nov 2026 12:00:30 GMT" });
    expect(faultOfAnswer({ op: "PutObject", answer: until }).context.retryAfterMs).toBe(30_000);
    const nonsense = answer(503, "", { "retry-after": "soon" });
    expect(faultOfAnswer({ op: "PutObject", answer: nonsense }).context.retryAfterMs).toBeUndefined();
  });

  test("leaves out a message that quotes the signed request", () => {
    const body = "<Error><Code>Odd</Code><Message>bad: ?X-Amz-Signature=abcdef</Message></Error>";
    const fault = faultOfAnswer({ op: "GetObject", answer: answer(400, body) });
    expect(JSON.stringify(fault.toData())).not.toContain("abcdef");
    expect(fault.context.detail).toBe("Odd");
  });
});

const withCode = (code: string, message = "x"): Error => Object.assign(new Error(message), { code });

describe("faultOfNetwork", () => {
  test.each<[string, FaultCode]>([
    ["ECONNRESET", "LINK_DOWN"],
    ["ECONNREFUSED", "LINK_DOWN"],
    ["EPIPE", "LINK_DOWN"],
    ["UND_ERR_SOCKET", "LINK_DOWN"],
    ["UND_ERR_CONNECT_TIMEOUT", "LINK_DOWN"],
    ["UND_ERR_HEADERS_TIMEOUT", "STALLED"],
    ["UND_ERR_BODY_TIMEOUT", "STALLED"],
    ["ENOTFOUND", "NAME_NOT_RESOLVED"],
    ["EAI_AGAIN", "NAME_NOT_RESOLVED"],
    ["CERT_HAS_EXPIRED", "TLS_FAILED"],
    ["ERR_TLS_CERT_ALTNAME_INVALID", "TLS_FAILED"],
    ["ERR_SSL_WRONG_VERSION_NUMBER", "TLS_FAILED"],
    ["ERR_SSL_UNEXPECTED_EOF_WHILE_READING", "LINK_DOWN"],
    ["HPE_INVALID_CONSTANT", "UNEXPECTED_ANSWER"],
    ["UND_ERR_ABORTED", "CANCELLED"],
  ])("%s is %s, also deep inside what fetch throws", (code, expected) => {
    expect(faultOfNetwork(withCode(code), {}).code).toBe(expected);
    const wrapped = new TypeError("fetch failed", { cause: new AggregateError([withCode(code)]) });
    expect(faultOfNetwork(wrapped, {}).code).toBe(expected);
  });

  test("knows an abort from a timeout", async () => {
    expect(faultOfNetwork(new DOMException("stopped", "AbortError"), {}).code).toBe("CANCELLED");
    expect(faultOfNetwork(new DOMException("late", "TimeoutError"), {}).code).toBe("STALLED");
  });

  test("takes the unknown for a lost link, and a Fault as it is", () => {
    expect(faultOfNetwork(new Error("?"), { op: "UploadPart" }).code).toBe("LINK_DOWN");
    const fault = new Fault("THROTTLED");
    expect(faultOfNetwork(new Error("x", { cause: fault }), {})).toBe(fault);
  });

  test("never repeats the message, which can hold a signed URL", () => {
    const error = withCode("ECONNRESET", "GET https://s3/?X-Amz-Signature=abcdef failed");
    expect(JSON.stringify(faultOfNetwork(error, { subject: "k" }).toData())).not.toContain("abcdef");
  });
});

describe("faultOfSdk", () => {
  test("passes a Fault through, knows the network, and calls the rest a mistake of ours", () => {
    const fault = new Fault("NO_SUCH_KEY");
    expect(faultOfSdk(fault, {})).toBe(fault);
    expect(faultOfSdk(withCode("ECONNREFUSED"), {}).code).toBe("LINK_DOWN");
    expect(faultOfSdk(new TypeError("secret words"), { op: "PutObject" })).toMatchObject({
      code: "INTERNAL",
      context: { op: "PutObject", detail: "TypeError" },
    });
  });
});

test("a right that lacks on a key of the bucket is named", () => {
  const denied = (message: string) =>
    faultOfAnswer({
      op: "GetObject",
      answer: answer(403, `<Error><Code>AccessDenied</Code><Message>${message}</Message></Error>`),
    });
  const message = "User: x is not authorized to perform: kms:Decrypt on the resource associated with this ciphertext";
  expect(denied(message)).toMatchObject({ code: "ACCESS_DENIED" });
  expect(denied(message).message).toContain("AccessDenied: kms:Decrypt on the key by which the bucket is encrypted");
  expect(denied("Access Denied").message).not.toContain("kms");
});

test.each([
  ["an object lock", "AccessDenied", "Access Denied because object protected by object lock."],
  ["a policy", "AccessDenied", "User: u is not authorized to perform: s3:PutObject with an explicit deny in a policy"],
  ["a key that is disabled", "KMS.DisabledException", "arn:aws:kms:us-east-1:1:key/k is disabled."],
])("a refusal because of %s says so", (_reason, s3Code, message) => {
  const body = `<Error><Code>${s3Code}</Code><Message>${message}</Message></Error>`;
  const status = s3Code === "AccessDenied" ? 403 : 400;
  const fault = faultOfAnswer({ op: "PutObject", answer: answer(status, body) });
  expect([fault.code, fault.message]).toEqual(["ACCESS_DENIED", expect.stringContaining(`: ${message}`)]);
});

test.each(["Access Denied", "Access Denied.", "no x-amz-content-sha256 was sent: X-Amz-Signature=abc"])(
  "a refusal that says %j is shown by its code alone",
  (message) => {
    const body = `<Error><Code>AccessDenied</Code><Message>${message}</Message></Error>`;
    const fault = faultOfAnswer({ op: "PutObject", answer: answer(403, body) });
    expect(fault.context.detail).toBe("AccessDenied");
  },
);
