import { expect, test } from "vitest";
import { traitsOf } from "#storage/providers/providers.ts";
import { createKnownStore } from "./known-store.ts";

const answered = (status: number) => ({
  answer: { status, headers: {}, body: Buffer.alloc(0) },
  sentAtMs: 0,
  receivedAtMs: 1,
});

test("a refusal for the clock's sake is doubted until there were too many with nothing served between them", () => {
  const store = createKnownStore({ source: {}, traits: traitsOf("minio"), kept: null });
  const doubts = (count: number) => Array.from({ length: count }, () => store.doubtsSkew());
  expect(doubts(8)).not.toContain(false);
  expect(store.doubtsSkew()).toBe(false);
  store.observe(answered(403));
  expect(store.doubtsSkew()).toBe(false);
  store.observe(answered(206));
  expect(store.doubtsSkew()).toBe(true);
});

test("of a store that nobody knows one ETag is asked for, and tells whether equal bytes have equal ones", () => {
  const open = (provider: "minio" | "other") =>
    createKnownStore({ source: {}, traits: traitsOf(provider), kept: null });
  expect(open("minio").hasEqualEtags).toBe(true);
  expect(open("minio").wantsEtag()).toBe(false);
  const [equal, own] = [open("other"), open("other")];
  expect(equal.hasEqualEtags).toBeNull();
  expect([equal.wantsEtag(), equal.wantsEtag()]).toEqual([true, false]);
  equal.seeEtag('"D41D8CD98F00B204E9800998ECF8427E"', "d41d8cd98f00b204e9800998ecf8427e");
  expect(equal.hasEqualEtags).toBe(true);
  own.seeEtag('"something-of-its-own"', "d41d8cd98f00b204e9800998ecf8427e");
  expect(own.hasEqualEtags).toBe(false);
});
