import { describe, expect, test } from "vitest";
import { isFault } from "#protocol/faults/fault.ts";
import type { FaultCode } from "#protocol/faults/fault-table.ts";
import * as answers from "./answers.ts";
import { checkRange } from "../answers/check-range.ts";
import type { HttpAnswer } from "../answers/faults.ts";
import { PORTAL, s3Error } from "../testing/canned-server.ts";

const answer = (status: number, body = "", headers: HttpAnswer["headers"] = {}): HttpAnswer => ({
  status,
  headers,
  body: Buffer.from(body),
});
const xml = (body: string): HttpAnswer =>
  answer(200, `<?xml version="1.0" encoding="UTF-8"?>\n${body}`, { "content-type": "application/xml" });
const ETAG = '"d41d8cd98f00b204e9800998ecf8427e"';

function codeOf(work: () => unknown): FaultCode | null {
  try {
    work();
  } catch (error) {
    if (isFault(error)) return error.code;
    throw error;
  }
  return null;
}

const CREATED = xml(
  "<InitiateMultipartUploadResult><Bucket>b</Bucket><Key>k</Key><UploadId>u&amp;1</UploadId></InitiateMultipartUploadResult>",
);
const COMPLETED = xml(
  "<CompleteMultipartUploadResult><Bucket>b</Bucket><Key>k</Key><ETag>&quot;abc-2&quot;</ETag></CompleteMultipartUploadResult>",
);
const LISTED = xml(
  "<ListPartsResult><UploadId>u</UploadId><IsTruncated>false</IsTruncated>" +
    '<Part><PartNumber>1</PartNumber><ETag>"a"</ETag><Size>5</Size><ChecksumCRC32>y/Q5Jg==</ChecksumCRC32></Part>' +
    "<Part><PartNumber>3</PartNumber><ETag>b</ETag><Size>7</Size></Part></ListPartsResult>",
);

describe("every reader", () => {
  const readers: [string, (given: HttpAnswer) => unknown][] = [
    ["create", answers.readCreate],
    ["part", answers.readPart],
    ["put", answers.readPut],
    ["parts", answers.readListParts],
    ["complete", answers.readComplete],
    ["head", answers.readHead],
    ["abort", answers.readAbort],
    ["delete", answers.readDelete],
  ];

  test.each(readers)("of %s takes a captive portal's page for what it is, even with an ETag", (_name, read) => {
    const headers = { "content-type": "text/html", "content-length": "76", etag: ETAG };
    expect(codeOf(() => read(answer(200, String(PORTAL.body), headers)))).toBe("INTERCEPTED");
    expect(codeOf(() => read(answer(302, "", { location: "http://portal" })))).toBe("INTERCEPTED");
  });

  test.each(readers.filter(([name]) => name !== "head"))("of %s sees an S3 error inside a 200", (_name, read) => {
    const body = String(s3Error(200, "InternalError").body);
    for (const form of [body, `${body}\n`, `   ${body}`]) {
      expect(codeOf(() => read(answer(200, form, { etag: ETAG, "content-length": "9" })))).toBe("STORE_UNAVAILABLE");
    }
  });

  const silent = new Set(["abort", "delete"]);
  test.each(readers.filter(([name]) => !silent.has(name)))("of %s refuses a 200 that says nothing", (_name, read) => {
    expect(codeOf(() => read(answer(200)))).toBe("UNEXPECTED_ANSWER");
  });

  test.each(readers.filter(([name]) => name !== "head"))("of %s passes throttling on", (_name, read) => {
    expect(codeOf(() => read(answer(503, String(s3Error(503, "SlowDown").body))))).toBe("THROTTLED");
  });
});

test("a refusal after the end of the signature asks for a new signature, not for a person", () => {
  const denied = answer(403, String(s3Error(403, "AccessDenied").body), { date: "Sat, 21 Nov 2026 12:00:00 GMT" });
  const noon = Date.UTC(2026, 10, 21, 12);
  const code = (expiresAt: number) => codeOf(() => answers.readPart(denied, { subject: "runs/a", expiresAt }));
  expect(code(noon)).toBe("SIGNATURE_EXPIRED");
  expect(code(noon + 1000)).toBe("ACCESS_DENIED");
  const range = { offset: 0, length: 1, expiresAt: noon };
  expect(codeOf(() => checkRange(denied, range))).toBe("SIGNATURE_EXPIRED");
  expect(codeOf(() => checkRange({ status: 403, headers: denied.headers }, range))).toBe("SIGNATURE_EXPIRED");
});

describe("readCreate", () => {
  test("gives the upload id, decoded", () => {
    expect(answers.readCreate(CREATED)).toEqual({ uploadId: "u&1" });
  });

  test("refuses an answer without one, and one that was cut short", () => {
    const none = xml("<InitiateMultipartUploadResult><UploadId></UploadId></InitiateMultipartUploadResult>");
    expect(codeOf(() => answers.readCreate(none))).toBe("UNEXPECTED_ANSWER");
    const short = { ...CREATED, body: CREATED.body.subarray(0, -8) };
    expect(codeOf(() => answers.readCreate(short))).toBe("UNEXPECTED_ANSWER");
  });
});

describe("readPart and readPut", () => {
  test("give the ETag with its quotes, added where a store leaves them out", () => {
    expect(answers.readPart(answer(200, "", { etag: ETAG }))).toEqual({ etag: ETAG });
    expect(answers.readPut(answer(200, "", { etag: "abc" }))).toEqual({ etag: '"abc"' });
  });

  test.each<[string, HttpAnswer, FaultCode]>([
    ["a page with an ETag", answer(200, String(PORTAL.body), { etag: ETAG }), "INTERCEPTED"],
    ["an empty page by its type", answer(200, "", { etag: ETAG, "content-type": "text/html" }), "INTERCEPTED"],
    ["an S3 error with an ETag", answer(200, String(s3Error(200, "SlowDown").body), { etag: ETAG }), "THROTTLED"],
    ["204", answer(204, "", { etag: ETAG }), "UNEXPECTED_ANSWER"],
    ["an empty ETag", answer(200, "", { etag: " " }), "UNEXPECTED_ANSWER"],
    ["a redirect with an ETag", answer(302, "", { etag: ETAG, location: "http://portal.test/" }), "INTERCEPTED"],
  ])("do not take %s for stored", (_name, given, expected) => {
    expect(codeOf(() => answers.readPart(given))).toBe(expected);
    expect(codeOf(() => answers.readPut(given))).toBe(expected);
  });

  test("refuse a success that carries words", () => {
    expect(codeOf(() => answers.readPart(answer(200, "please log in", { etag: ETAG })))).toBe("UNEXPECTED_ANSWER");
  });

  test("say that the object was there already", () => {
    const given = answer(412, String(s3Error(412, "PreconditionFailed").body));
    expect(codeOf(() => answers.readPut(given, "runs/a"))).toBe("ALREADY_EXISTS");
  });

  test("name the key in the fault", () => {
    expect(() => answers.readPut(answer(200), "runs/a")).toThrow("runs/a");
  });
});

describe("readListParts", () => {
  test("gives numbers, sizes, ETags and sums", () => {
    expect(answers.readListParts(LISTED)).toEqual({
      parts: [
        { partNumber: 1, sizeBytes: 5, etag: '"a"', crc32: "cbf43926" },
        { partNumber: 3, sizeBytes: 7, etag: '"b"', crc32: null },
      ],
      nextAfter: null,
    });
  });

  test("gives an upload without parts as such", () => {
    const none = xml("<ListPartsResult><UploadId>u</UploadId><IsTruncated>false</IsTruncated></ListPartsResult>");
    expect(answers.readListParts(none)).toEqual({ parts: [], nextAfter: null });
  });

  const page = (marker: string, parts: string) =>
    xml(`<ListPartsResult><UploadId>u</UploadId><IsTruncated>true</IsTruncated>${marker}${parts}</ListPartsResult>`);
  const PART = "<Part><PartNumber>9</PartNumber><ETag>a</ETag><Size>5</Size></Part>";

  test("says where the next page starts", () => {
    const marked = page("<NextPartNumberMarker>9</NextPartNumberMarker>", PART);
    expect(answers.readListParts(marked).nextAfter).toBe(9);
    expect(answers.readListParts(page("", PART)).nextAfter).toBe(9);
  });

  test("refuses a page that would be asked for again and again", () => {
    const back = page("<NextPartNumberMarker>3</NextPartNumberMarker>", PART);
    expect(codeOf(() => answers.readListParts(back))).toBe("UNEXPECTED_ANSWER");
    const empty = page("<NextPartNumberMarker>3</NextPartNumberMarker>", "");
    expect(codeOf(() => answers.readListParts(empty))).toBe("UNEXPECTED_ANSWER");
  });

  test.each([
    ["no word on whether more follows", "<ListPartsResult><UploadId>u</UploadId></ListPartsResult>"],
    [
      "a part without a size",
      "<ListPartsResult><UploadId>u</UploadId><IsTruncated>false</IsTruncated><Part><PartNumber>1</PartNumber><ETag>a</ETag></Part></ListPartsResult>",
    ],
    ["another document", "<ListBucketResult><IsTruncated>false</IsTruncated></ListBucketResult>"],
  ])("refuses %s", (_name, body) => {
    expect(codeOf(() => answers.readListParts(xml(body)))).toBe("UNEXPECTED_ANSWER");
  });

  test("says that the upload is gone", () => {
    const gone = answer(404, String(s3Error(404, "NoSuchUpload").body));
    expect(codeOf(() => answers.readListParts(gone))).toBe("NO_SUCH_UPLOAD");
  });
});

describe("readComplete", () => {
  test("gives the ETag", () => {
    expect(answers.readComplete(COMPLETED)).toEqual({ etag: '"abc-2"' });
  });

  test.each([
    ["no ETag", "<CompleteMultipartUploadResult><Key>k</Key></CompleteMultipartUploadResult>"],
    ["no key", "<CompleteMultipartUploadResult><ETag>a</ETag></CompleteMultipartUploadResult>"],
  ])("refuses an answer with %s", (_name, body) => {
    expect(codeOf(() => answers.readComplete(xml(body)))).toBe("UNEXPECTED_ANSWER");
  });

  const failure = String(s3Error(200, "InternalError").body);
  test.each<[string, HttpAnswer, FaultCode]>([
    ["an S3 error", answer(200, failure), "STORE_UNAVAILABLE"],
    ["an S3 error and a newline", answer(200, `${failure}\n`), "STORE_UNAVAILABLE"],
    ["spaces to keep the connection, then an S3 error", answer(200, `  \n ${failure}`), "STORE_UNAVAILABLE"],
    ["half a success", { ...COMPLETED, body: COMPLETED.body.subarray(0, -12) }, "UNEXPECTED_ANSWER"],
    ["nothing", answer(200, "", { etag: ETAG }), "UNEXPECTED_ANSWER"],
    ["spaces", answer(200, "   "), "UNEXPECTED_ANSWER"],
    ["a page that says xml", answer(200, String(PORTAL.body), { "content-type": "application/xml" }), "INTERCEPTED"],
    ["a page without a type", answer(200, String(PORTAL.body)), "INTERCEPTED"],
    ["JSON", answer(200, '{"ok":true}', { etag: ETAG, "content-type": "application/json" }), "UNEXPECTED_ANSWER"],
    ["the answer to a create", CREATED, "UNEXPECTED_ANSWER"],
  ])("does not take %s in a 200 for done", (_name, given, expected) => {
    expect(codeOf(() => answers.readComplete(given))).toBe(expected);
  });

  test("takes a success that came behind spaces", () => {
    const slow = { ...COMPLETED, body: Buffer.concat([Buffer.from("   \n"), COMPLETED.body]) };
    expect(answers.readComplete(slow)).toEqual({ etag: '"abc-2"' });
  });

  test("tells a lost upload from a taken key", () => {
    const of = (status: number, code: string) => answer(status, String(s3Error(status, code).body));
    expect(codeOf(() => answers.readComplete(of(404, "NoSuchUpload")))).toBe("NO_SUCH_UPLOAD");
    expect(codeOf(() => answers.readComplete(of(412, "PreconditionFailed")))).toBe("ALREADY_EXISTS");
  });
});

test("readHead knows an object that is a page from a portal's page", () => {
  const headers = { etag: ETAG, "content-length": "42", "content-type": "text/html" };
  expect(codeOf(() => answers.readHead(answer(200, "", headers)))).toBe("INTERCEPTED");
  expect(codeOf(() => answers.readHead(answer(200, "", { ...headers, "x-amz-request-id": "R1" })))).toBeNull();
});

describe("readHead", () => {
  const headers = { etag: ETAG, "content-length": "42", "content-type": "binary/octet-stream" };

  test("gives size, ETag, nonce and sum", () => {
    const all = { ...headers, "x-amz-meta-tidemark-nonce": "n1", "x-amz-checksum-crc32": "y/Q5Jg==" };
    expect(answers.readHead(answer(200, "", all))).toEqual({
      sizeBytes: 42,
      etag: ETAG,
      nonce: "n1",
      crc32: "cbf43926",
    });
    expect(answers.readHead(answer(200, "", headers))).toMatchObject({ nonce: null, crc32: null });
  });

  test("says that the object does not exist", () => {
    expect(codeOf(() => answers.readHead(answer(404)))).toBe("NO_SUCH_KEY");
  });

  test("refuses an answer without a size", () => {
    expect(codeOf(() => answers.readHead(answer(200, "", { etag: ETAG })))).toBe("UNEXPECTED_ANSWER");
  });
});

describe("isSurePut", () => {
  const MD5 = "d41d8cd98f00b204e9800998ecf8427e";
  const sent = { crc32: "cbf43926" };
  const store = { etag: `"${MD5}"`, "content-length": "0", "x-amz-request-id": "R1" };
  const sure = (headers: HttpAnswer["headers"], more: { md5?: string } = {}) =>
    answers.isSurePut(answer(200, "", headers), { ...sent, ...more });

  test("is sure of a store's own answer, and of one that read our bytes", () => {
    expect(sure(store)).toBe(true);
    expect(sure({ etag: '"an-opaque.tag:1"', "x-amz-id-2": "abc" })).toBe(true);
    expect(sure({ etag: '"an-opaque-tag"', "x-amz-checksum-crc32": "y/Q5Jg==" })).toBe(true);
    expect(sure({ etag: `"${MD5.toUpperCase()}"` }, { md5: MD5 })).toBe(true);
  });

  test.each<[string, HttpAnswer["headers"]]>([
    ["no ETag", { "x-amz-request-id": "R1" }],
    ["an ETag without quotes", { ...store, etag: MD5 }],
    ["a weak ETag", { ...store, etag: `W/"${MD5}"` }],
    ["nothing of a store's", { etag: `"${MD5}"` }],
    ["a length", { ...store, "content-length": "5" }],
    ["a page's type", { ...store, "content-type": "text/html" }],
    ["an age", { ...store, age: "5" }],
    ["a cookie", { ...store, "set-cookie": "portal=1" }],
    ["the sum of other bytes", { ...store, "x-amz-checksum-crc32": "AAAAAA==" }],
  ])("asks for a HEAD when there is %s", (_name, headers) => {
    expect(sure(headers)).toBe(false);
  });

  test("asks for a HEAD when the ETag is the MD5 of other bytes, or the answer is none of a PUT", () => {
    expect(sure(store, { md5: "0".repeat(32) })).toBe(false);
    expect(answers.isSurePut(answer(204, "", store), sent)).toBe(false);
    expect(answers.isSurePut(answer(200, "<html></html>", store), sent)).toBe(false);
    expect(answers.isSurePut(answer(200, "x", store), sent)).toBe(false);
  });
});

describe("readAbort", () => {
  test("is content when the upload is gone, by this call or before", () => {
    expect(codeOf(() => answers.readAbort(answer(204)))).toBeNull();
    expect(codeOf(() => answers.readAbort(answer(404, String(s3Error(404, "NoSuchUpload").body))))).toBeNull();
  });

  test("is not content with a refusal", () => {
    expect(codeOf(() => answers.readAbort(answer(403, String(s3Error(403, "AccessDenied").body))))).toBe(
      "ACCESS_DENIED",
    );
  });
});

describe("readDelete", () => {
  test("is content when the object is gone, by this call or before", () => {
    expect(codeOf(() => answers.readDelete(answer(204)))).toBeNull();
    expect(codeOf(() => answers.readDelete(answer(404, String(s3Error(404, "NoSuchKey").body))))).toBeNull();
  });

  test("is not content with a refusal", () => {
    expect(codeOf(() => answers.readDelete(answer(403, String(s3Error(403, "AccessDenied").body))))).toBe(
      "ACCESS_DENIED",
    );
  });
});

describe("completeBody", () => {
  const parts = [
    { partNumber: 2, etag: '"b"', crc32: "00000001" },
    { partNumber: 1, etag: '"a"', crc32: "cbf43926" },
  ];

  test("lists the parts in order with their sums", () => {
    expect(answers.completeBody(parts, { checksum: "crc32" })).toBe(
      '<CompleteMultipartUpload xmlns="http://s3.amazonaws.com/doc/2006-03-01/">' +
        "<Part><PartNumber>1</PartNumber><ETag>&#34;a&#34;</ETag><ChecksumCRC32>y/Q5Jg==</ChecksumCRC32></Part>" +
        "<Part><PartNumber>2</PartNumber><ETag>&#34;b&#34;</ETag><ChecksumCRC32>AAAAAQ==</ChecksumCRC32></Part>" +
        "</CompleteMultipartUpload>",
    );
  });

  test("leaves the sums out where the store takes none, and lets no ETag break out", () => {
    const body = answers.completeBody([{ partNumber: 1, etag: "</ETag>&", crc32: "00000000" }], { checksum: "none" });
    expect(body).toContain("<ETag>&#60;/ETag&#62;&#38;</ETag></Part>");
    expect(body).not.toContain("Checksum");
  });
});

describe("checkRange", () => {
  const range = { offset: 100, length: 50, etag: ETAG };
  const head = (headers: HttpAnswer["headers"], status = 206) => ({
    status,
    headers: { etag: ETAG, "content-range": "bytes 100-149/1000", "content-length": "50", ...headers },
  });
  const code = (headers: HttpAnswer["headers"], status?: number) =>
    codeOf(() => checkRange(head(headers, status), range));

  test("accepts exactly the range of exactly the object", () => {
    expect(code({})).toBeNull();
    expect(code({ "content-length": undefined })).toBeNull();
    expect(code({ "content-range": "bytes 100-149/*" })).toBeNull();
    // Of an object that is stored so.
    expect(code({ "content-encoding": "gzip" })).toBeNull();
  });

  test("refuses a whole object in place of a range", () => {
    expect(code({ "content-length": "1000" }, 200)).toBe("RANGE_IGNORED");
    expect(code({ "content-length": "149" }, 200)).toBe("UNEXPECTED_ANSWER");
    expect(code({ "content-length": undefined }, 200)).toBe("UNEXPECTED_ANSWER");
    // However long it is: without an ETag it is an error that says 200, and may pass.
    expect(code({ "content-length": "1000", etag: undefined }, 200)).toBe("UNEXPECTED_ANSWER");
  });

  test.each([
    ["another start", { "content-range": "bytes 0-49/1000" }],
    ["more than was asked", { "content-range": "bytes 100-150/1000" }],
    ["no Content-Range", { "content-range": undefined }],
    ["a nonsensical one", { "content-range": "bytes */1000" }],
    ["a length that differs", { "content-length": "49" }],
  ])("refuses %s", (_name, headers) => {
    expect(code(headers)).toBe("UNEXPECTED_ANSWER");
  });

  test.each([undefined, "31"])("names a proxy that encodes the bytes on the way, with a length of %j", (length) => {
    expect(code({ "content-encoding": "gzip", "content-length": length })).toBe("INTERCEPTED");
  });

  test("tells a range cut short from an object that is too small", () => {
    expect(code({ "content-range": "bytes 100-120/1000", "content-length": "21" })).toBe("TRUNCATED");
    expect(code({ "content-range": "bytes 100-120/121", "content-length": "21" })).toBe("SIZE_MISMATCH");
    expect(code({}, 416)).toBe("SIZE_MISMATCH");
  });

  test("notices another object, by condition or by ETag", () => {
    expect(code({}, 412)).toBe("OBJECT_CHANGED");
    expect(code({ etag: '"another"' })).toBe("OBJECT_CHANGED");
  });

  test("takes an object that is a page for what it is: a range of the right object is no portal's", () => {
    expect(code({ "content-type": "text/html" })).toBeNull();
    expect(code({ "content-type": "text/html", "content-range": undefined })).toBe("UNEXPECTED_ANSWER");
    expect(code({ "content-type": "text/html", etag: '"another"' })).toBe("OBJECT_CHANGED");
  });

  test("takes a page for an interception, and reads an error's body when it is there", () => {
    expect(code({ "content-type": "text/html" }, 200)).toBe("INTERCEPTED");
    const body = Buffer.from(String(s3Error(404, "NoSuchBucket").body));
    expect(codeOf(() => checkRange({ ...head({}, 404), body }, range))).toBe("NO_SUCH_BUCKET");
    expect(code({}, 404)).toBe("NO_SUCH_KEY");
  });
});
