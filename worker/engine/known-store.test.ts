import { expect, test } from "vitest";
import { traitsOf } from "#storage/providers.ts";
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
