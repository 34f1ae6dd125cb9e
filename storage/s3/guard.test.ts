import {
  CompleteMultipartUploadCommand,
  DeleteObjectCommand,
  GetBucketCorsCommand,
  GetObjectCommand,
  HeadObjectCommand,
  ListMultipartUploadsCommand,
  ListObjectsV2Command,
  PutObjectCommand,
  type S3Client,
} from "@aws-sdk/client-s3";
import { describe, expect, test } from "vitest";
import { isFault } from "#protocol/faults/fault.ts";
import type { FaultCode } from "#protocol/faults/fault-table.ts";
import { createControlClient } from "./client.ts";
import { traitsOf } from "../providers/providers.ts";
import { PORTAL, s3Error, serveCanned, type Canned } from "../testing/canned-server.ts";

const at = { Bucket: "training", Key: "a" };
const CALLS: Readonly<Record<string, (client: S3Client) => Promise<unknown>>> = {
  ListObjectsV2: (client) => client.send(new ListObjectsV2Command({ Bucket: "training" })),
  ListMultipartUploads: (client) => client.send(new ListMultipartUploadsCommand({ Bucket: "training" })),
  GetBucketCors: (client) => client.send(new GetBucketCorsCommand({ Bucket: "training" })),
  CompleteMultipartUpload: (client) => client.send(new CompleteMultipartUploadCommand({ ...at, UploadId: "u" })),
  PutObject: (client) => client.send(new PutObjectCommand({ ...at, Body: "x" })),
  GetObject: (client) => client.send(new GetObjectCommand(at)),
  HeadObject: (client) => client.send(new HeadObjectCommand(at)),
  DeleteObject: (client) => client.send(new DeleteObjectCommand(at)),
};
const names = Object.keys(CALLS);
const XML_CALLS = ["ListObjectsV2", "ListMultipartUploads", "GetBucketCors", "CompleteMultipartUpload"];

/** What a call comes to when the store gives this answer; null when the SDK takes it for a success. */
async function outcome(name: string, canned: Canned): Promise<FaultCode | null> {
  await using server = await serveCanned(() => canned);
  const client = createControlClient({
    access: {
      endpoint: server.endpoint,
      region: "us-east-1",
      bucket: "training",
      addressing: "path",
      traits: traitsOf("other"),
    },
    credential: { accessKeyId: "key", secretAccessKey: "secret" },
  });
  try {
    await CALLS[name]?.(client);
    return null;
  } catch (error) {
    if (isFault(error)) return error.code;
    throw error;
  } finally {
    client.destroy();
  }
}

describe("the guard", () => {
  test.each(names)("takes a captive portal's answer to %s for an interception", async (name) => {
    expect(await outcome(name, PORTAL)).toBe("INTERCEPTED");
    const withEtag = { ...PORTAL, headers: { "content-type": "text/html", etag: '"page"' } };
    expect(await outcome(name, withEtag)).toBe("INTERCEPTED");
  });

  test.each(names)("takes a redirect to a sign-in page in answer to %s for an interception", async (name) => {
    expect(await outcome(name, { status: 302, headers: { location: "http://portal.test/" } })).toBe("INTERCEPTED");
  });

  test.each(XML_CALLS)("sees an S3 error inside the 200 of %s, however it ends", async (name) => {
    const body = String(s3Error(200, "InternalError").body);
    expect(await outcome(name, { body })).toBe("STORE_UNAVAILABLE");
    expect(await outcome(name, { body: `${body}\n` })).toBe("STORE_UNAVAILABLE");
  });

  test.each(XML_CALLS)("never takes nothing, another document or half of one for the answer to %s", async (name) => {
    for (const body of ["", "ok", "{}", "<Other><A>1</A></Other>", "<ListBucketResult><Name>training</Name>"]) {
      expect(await outcome(name, { body })).toBe("UNEXPECTED_ANSWER");
    }
  });

  test.each(["PutObject", "GetObject", "HeadObject"])("refuses a success of %s without an ETag", async (name) => {
    expect(await outcome(name, { status: 200 })).toBe("UNEXPECTED_ANSWER");
  });

  test.each(names.filter((name) => name !== "HeadObject"))("reads the error of %s by the tables", async (name) => {
    expect(await outcome(name, s3Error(403, "InvalidAccessKeyId"))).toBe("BAD_CREDENTIALS");
    expect(await outcome(name, s3Error(400, "RequestRateLimitExceeded"))).toBe("THROTTLED");
    expect(await outcome(name, { status: 404, body: "not here" })).toBe("INTERCEPTED");
  });

  test.each(names)("turns a broken connection during %s into a lost link", async (name) => {
    expect(await outcome(name, { hangUp: true })).toBe("LINK_DOWN");
  });

  test("lets real answers through", async () => {
    const etag = { etag: '"a"' };
    expect(await outcome("PutObject", { headers: etag })).toBeNull();
    expect(await outcome("GetObject", { headers: etag, body: "bytes" })).toBeNull();
    expect(await outcome("HeadObject", { headers: etag })).toBeNull();
    expect(await outcome("DeleteObject", { status: 204 })).toBeNull();
    const listed =
      '<?xml version="1.0"?>\n<ListBucketResult xmlns="x"><IsTruncated>false</IsTruncated></ListBucketResult>';
    expect(await outcome("ListObjectsV2", { body: listed })).toBeNull();
  });

  test("knows an object that is a page from a portal's by what only a store sends along", async () => {
    const headers = { etag: '"a"', "content-type": "text/html", "x-amz-request-id": "R1" };
    expect(await outcome("HeadObject", { headers })).toBeNull();
    expect(await outcome("GetObject", { headers, body: "<html></html>" })).toBeNull();
    expect(await outcome("PutObject", { headers, body: "<html></html>" })).toBe("INTERCEPTED");
  });

  test("says that an object or a bucket does not exist only when the store says so", async () => {
    expect(await outcome("HeadObject", { status: 404 })).toBe("NO_SUCH_KEY");
    expect(await outcome("GetObject", s3Error(404, "NoSuchKey"))).toBe("NO_SUCH_KEY");
    expect(await outcome("ListObjectsV2", s3Error(404, "NoSuchBucket"))).toBe("NO_SUCH_BUCKET");
  });
});
