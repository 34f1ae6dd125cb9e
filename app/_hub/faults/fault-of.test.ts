import { expect, test } from "vitest";
import { faultOf, wordsOf } from "./fault-of.ts";

test("reads the fault the hub put on an error", () => {
  const error = Object.assign(new Error("x"), {
    data: { code: "CONFLICT", fault: { code: "IN_USE", subject: "training-eu", status: 409, requestId: "r1" } },
  });
  expect(faultOf(error)).toEqual({ code: "IN_USE", subject: "training-eu", status: 409, requestId: "r1" });
});

test("an error that never reached the hub says that the hub cannot be reached", () => {
  expect(faultOf(new TypeError("Failed to fetch")).code).toBe("HUB_UNREACHABLE");
  expect(faultOf(undefined).code).toBe("HUB_UNREACHABLE");
});

test("a code nobody knows is not trusted", () => {
  expect(faultOf({ data: { fault: { code: "toString" } } }).code).toBe("HUB_UNREACHABLE");
  expect(faultOf({ data: { code: "TIMEOUT", fault: { code: "NEWER_CODE" } } }).code).toBe("INTERNAL");
});

test("the sentence names the subject first and the reason in brackets", () => {
  expect(wordsOf({ code: "IN_USE", subject: "training-eu", detail: "3 runs" })).toEqual({
    says: "training-eu: It is still in use (3 runs).",
    next: "Remove what uses it first.",
  });
});

test("a refused operation names the permission that is missing, where that can be told", () => {
  expect(wordsOf({ code: "ACCESS_DENIED", op: "ListObjectsV2" }).next).toContain("s3:ListBucket");
  expect(wordsOf({ code: "ACCESS_DENIED", op: "toString" }).next).toContain("the missing permission");
});
