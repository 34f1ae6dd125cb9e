import { describe, expect, it } from "vitest";
import { readRange } from "./ranges.ts";

describe("a Range header", () => {
  it.each([
    ["bytes=0-0", { first: 0, last: 0 }],
    ["bytes=5-", { first: 5, last: 99 }],
    ["bytes=5-1000", { first: 5, last: 99 }],
    ["bytes=-7", { first: 93, last: 99 }],
    ["bytes=-1000", { first: 0, last: 99 }],
  ])("%s of 100 bytes is a range", (header, expected) => {
    expect(readRange(header, 100)).toEqual(expected);
  });

  it.each([undefined, "bytes=-", "bytes=9-5", "bytes=0-1,3-4", "items=0-1", "bytes=a-b"])("%s means all", (header) => {
    expect(readRange(header, 100)).toBeUndefined();
  });

  it.each(["bytes=100-", "bytes=100-200", "bytes=-0"])(
    "%s of 100 bytes is unsatisfiable and says how long it is",
    (header) => {
      expect(() => readRange(header, 100)).toThrow(
        expect.objectContaining({ code: "InvalidRange", status: 416, headers: { "content-range": "bytes */100" } }),
      );
    },
  );

  it("of an empty object is unsatisfiable, a suffix too", () => {
    expect(() => readRange("bytes=0-0", 0)).toThrow(expect.objectContaining({ code: "InvalidRange" }));
    expect(() => readRange("bytes=-1", 0)).toThrow(expect.objectContaining({ code: "InvalidRange" }));
  });
});
