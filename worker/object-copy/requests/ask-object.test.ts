import { describe, expect, test } from "vitest";
import { readPage } from "./ask-object.ts";

const about = { key: "k", after: 0 };
const page = (parts: string, rest = "<IsTruncated>false</IsTruncated>") => ({
  status: 200,
  headers: { "content-type": "application/xml" },
  body: Buffer.from(
    `<GetObjectAttributesResponse><ObjectParts>${rest}${parts}</ObjectParts></GetObjectAttributesResponse>`,
  ),
});
const part = (number: number, size: number, sum = "AQIDBA==") =>
  `<Part><PartNumber>${number}</PartNumber><Size>${size}</Size><ChecksumCRC32>${sum}</ChecksumCRC32></Part>`;

describe("the sums of an object's parts", () => {
  test("are read in order, and more are asked for where there are more", () => {
    const read = readPage(page(part(1, 5) + part(2, 3), "<IsTruncated>true</IsTruncated>"), about);
    expect(read).toEqual({
      sums: [
        { length: 5, crc32: "01020304" },
        { length: 3, crc32: "01020304" },
      ],
      next: 2,
    });
    expect(readPage(page(part(3, 1)), { key: "k", after: 2 })).toEqual({
      sums: [{ length: 1, crc32: "01020304" }],
      next: null,
    });
  });

  test.each([
    ["a store without such an answer", { status: 501, headers: {}, body: Buffer.alloc(0) }],
    ["a key that may not ask", { status: 403, headers: {}, body: Buffer.alloc(0) }],
    ["parts without sums", page("<Part><PartNumber>1</PartNumber><Size>5</Size></Part>")],
    ["a gap", page(part(1, 5) + part(3, 5))],
    ["a page that leads nowhere", page("", "<IsTruncated>true</IsTruncated>")],
    ["an object without parts", { status: 200, headers: {}, body: Buffer.from("<GetObjectAttributesResponse/>") }],
  ])("are nobody's to tell after %s", (_, answer) => {
    expect(readPage(answer, about)).toBe(null);
  });

  test("are not read out of a failure", () => {
    expect(() => readPage({ status: 503, headers: {}, body: Buffer.from("busy") }, about)).toThrow();
  });
});
