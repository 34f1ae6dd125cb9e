import { crc32 } from "node:zlib";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { openTester, type StoreTester } from "./store-tester.ts";

let tester: StoreTester;
beforeAll(async () => {
  tester = await openTester(["--quirks", "min-part-bytes=1"]);
});
afterAll(() => tester.close());

function sumOf(text: string): string {
  const bytes = Buffer.alloc(4);
  bytes.writeUInt32BE(crc32(text));
  return bytes.toString("base64");
}

async function upload(key: string, bodies: readonly string[]): Promise<void> {
  const path = `/box/${key}`;
  const signedHeaders = { "x-amz-checksum-algorithm": "CRC32" };
  const created = await tester.send({ method: "POST", path, query: "uploads=", signedHeaders });
  const uploadId = /<UploadId>([^<]*)/.exec(created.text)?.[1] ?? "";
  const lines: string[] = [];
  for (const [index, body] of bodies.entries()) {
    const query = `partNumber=${index + 1}&uploadId=${uploadId}`;
    const sum = { "x-amz-checksum-crc32": sumOf(body) };
    const { headers } = await tester.send({ method: "PUT", path, query, body, signedHeaders: sum });
    lines.push(
      `<Part><PartNumber>${index + 1}</PartNumber><ETag>${headers.etag}</ETag><ChecksumCRC32>${sumOf(body)}</ChecksumCRC32></Part>`,
    );
  }
  const body = `<CompleteMultipartUpload>${lines.join("")}</CompleteMultipartUpload>`;
  expect((await tester.send({ method: "POST", path, query: `uploadId=${uploadId}`, body })).code).toBe("");
}

const ask = (key: string, headers: Record<string, string>) =>
  tester.send({ method: "GET", path: `/box/${key}`, query: "attributes=", signedHeaders: headers });
const listed = (text: string) =>
  [...text.matchAll(/<PartNumber>(\d+)<\/PartNumber><Size>(\d+)<\/Size><ChecksumCRC32>([^<]+)/g)].map(
    ([, number, size, sum]) => [number, size, sum],
  );

describe("the attributes of an object", () => {
  it("list its parts with length and checksum, page by page", async () => {
    await upload("parts", ["one", "three", "x"]);
    const first = await ask("parts", { "x-amz-object-attributes": "ObjectParts", "x-amz-max-parts": "2" });
    expect(listed(first.text)).toEqual([
      ["1", "3", sumOf("one")],
      ["2", "5", sumOf("three")],
    ]);
    expect(first.text).toContain("<IsTruncated>true</IsTruncated>");
    const rest = await ask("parts", { "x-amz-object-attributes": "ObjectParts", "x-amz-part-number-marker": "2" });
    expect(listed(rest.text)).toEqual([["3", "1", sumOf("x")]]);
    expect(rest.text).toContain("<IsTruncated>false</IsTruncated>");
  });

  it("are only those that were asked for", async () => {
    await tester.send({ method: "PUT", path: "/box/whole", body: "whole" });
    const { text } = await ask("whole", { "x-amz-object-attributes": "ObjectSize,ObjectParts" });
    expect(text).toContain("<ObjectSize>5</ObjectSize>");
    expect(text).not.toContain("ETag");
    expect(text).not.toContain("ObjectParts");
  });

  it("need an object and a question", async () => {
    expect((await ask("none", { "x-amz-object-attributes": "ETag" })).code).toBe("NoSuchKey");
    expect((await ask("whole", {})).code).toBe("InvalidArgument");
  });
});
