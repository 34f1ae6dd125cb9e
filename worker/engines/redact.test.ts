import { expect, test } from "vitest";
import { endOf, redact } from "./redact.ts";

test("a secret is taken out in each of its forms", () => {
  const secret = `a+b/"c=`;
  const text = `plain ${secret}, url ${encodeURIComponent(secret)}, json ${JSON.stringify(secret)}`;
  const clean = redact(text, [secret, ""]);
  expect(clean).toBe(`plain [secret], url [secret], json "[secret]"`);
});

test("signatures of URLs are taken out although nobody named them", () => {
  const said =
    "GET https://s.example/b/k?X-Amz-Credential=me%2Fday&X-Amz-Signature=0af3&x=1 failed; Signature=99, done";
  expect(redact(said, [])).toBe(
    "GET https://s.example/b/k?X-Amz-Credential=[secret]&X-Amz-Signature=[secret]&x=1 failed; Signature=[secret], done",
  );
});

test("a line that was cut in two is left out whole", () => {
  expect(endOf("half a secret\nwhole line", { most: 100, isCut: true })).toBe("whole line");
  expect(endOf("0123456789\nend", { most: 6, isCut: false })).toBe("end");
  expect(endOf("short", { most: 6, isCut: false })).toBe("short");
  expect(endOf("no line at all", { most: 5, isCut: true })).toBe("");
});
