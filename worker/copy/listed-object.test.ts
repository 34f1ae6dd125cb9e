import { expect, test } from "vitest";
import { ListedRows } from "./listed-object.ts";

const MD5 = "d41d8cd98f00b204e9800998ecf8427e";

test("each object is told as it was listed, whatever its ETag is", () => {
  const etags = [
    `"${MD5}"`,
    `"${MD5}-1"`,
    `"${MD5}-10000"`,
    `"${MD5}-65535"`,
    `"${MD5}-65536"`,
    `"${MD5}-0"`,
    `"${MD5}-01"`,
    `"${MD5.toUpperCase()}"`,
    MD5,
    `W/"${MD5}"`,
    '""',
    '"0x8DD2A"',
    null,
    `"${"0".repeat(32)}"`,
    `"${"f".repeat(32)}-7"`,
  ];
  const rows = new ListedRows("a/", etags.length);
  const given = etags.map((etag, index) => ({
    key: `a/b/${index}`,
    sizeBytes: index * 5e11,
    etag,
    modifiedAtMs: index % 3 === 0 ? null : index - 5,
  }));
  const listed = given.map((object) => rows.add(object));
  for (const [index, object] of listed.entries()) {
    const { key, sizeBytes, etag, modifiedAtMs, relative, at } = object;
    expect({ key, sizeBytes, etag, modifiedAtMs }).toEqual(given[index]);
    expect([relative, at]).toEqual([`b/${index}`, "store"]);
  }
});

test("no more objects than there is room for", () => {
  const rows = new ListedRows("", 1);
  const object = { key: "a", sizeBytes: 1, etag: null, modifiedAtMs: null };
  rows.add(object);
  expect(() => rows.add(object)).toThrow(RangeError);
});
