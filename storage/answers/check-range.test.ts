import { describe, expect, test } from "vitest";
import { isFault } from "#protocol/faults/fault.ts";
import { checkWhole } from "./check-range.ts";

const object = { length: 5, etag: '"abc"', isPinned: true, subject: "key" };
const headers = { etag: '"abc"', "content-length": "5" };
const verdictOf = (answer: { status?: number; headers: Record<string, string> }, about: object = {}): string => {
  try {
    checkWhole({ status: 200, ...answer }, { ...object, ...about });
    return "right";
  } catch (error) {
    return isFault(error) ? error.code : String(error);
  }
};

describe("an answer that shall be a whole object", () => {
  test.each<[string, { status?: number; headers: Record<string, string> }, string]>([
    ["is right with its length and ETag", { headers }, "right"],
    ["may be a page", { headers: { ...headers, "content-type": "text/html" } }, "right"],
    ["may have an ETag without quotes", { headers: { ...headers, etag: "abc" } }, "right"],
    ["may say that it is not coded", { headers: { ...headers, "content-encoding": "identity" } }, "right"],
    ["is of another version with another ETag", { headers: { ...headers, etag: '"def"' } }, "OBJECT_CHANGED"],
    ["has an ETag", { headers: { "content-length": "5" } }, "UNEXPECTED_ANSWER"],
    ["is as long as the object", { headers: { ...headers, "content-length": "6" } }, "UNEXPECTED_ANSWER"],
    ["says how long it is", { headers: { etag: '"abc"' } }, "UNEXPECTED_ANSWER"],
    ["may be stored with an encoding", { headers: { ...headers, "content-encoding": "gzip" } }, "right"],
    [
      "is not encoded on the way",
      { headers: { ...headers, "content-length": "4", "content-encoding": "gzip" } },
      "INTERCEPTED",
    ],
    ["is no range", { status: 206, headers }, "UNEXPECTED_ANSWER"],
  ])("%s", (_, answer, verdict) => {
    expect(verdictOf(answer)).toBe(verdict);
  });

  test("may have another ETag where that says nothing, but then it is no page", () => {
    const other = { ...headers, etag: '"def"' };
    const page = { "content-type": "text/html" };
    for (const about of [{ isPinned: false }, { isPinned: false, etag: null }]) {
      expect(verdictOf({ headers: other }, about)).toBe("right");
      expect(verdictOf({ headers: { ...other, ...page } }, about)).toBe("UNEXPECTED_ANSWER");
    }
    expect(verdictOf({ headers: { ...headers, ...page } }, { isPinned: false })).toBe("right");
  });
});
