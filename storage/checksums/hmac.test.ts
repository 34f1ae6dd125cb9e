import { createHmac, randomBytes } from "node:crypto";
import { describe, expect, it } from "vitest";
import { createHmacKey } from "./hmac.ts";

describe("the HMAC of many texts", () => {
  const secret = randomBytes(32);
  const key = createHmacKey(secret);
  const theirs = (text: string) => createHmac("sha256", secret).update(text).digest("hex");

  it.each([
    ["nothing", ""],
    ["a short text", "AWS4-HMAC-SHA256"],
    ["a text of more than a block", "x".repeat(65)],
    ["the longest that is signed by hand", "\u20ac".repeat(512)],
    ["a longer one", "\u20ac".repeat(513)],
    ["characters beyond the first plane", "\u{1f30a}".repeat(200)],
  ])("is Node's of %s", (_, text) => {
    expect(key.sign(text)).toBe(theirs(text));
  });

  it("is that of the text alone after a longer one", () => {
    key.sign("y".repeat(400));
    expect(key.sign("short")).toBe(theirs("short"));
  });
});
