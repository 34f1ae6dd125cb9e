import { expect, test } from "vitest";
import { fieldWordsOf, inWords } from "./field-words.ts";

test("a path of a call is said in words, and nothing else is changed", () => {
  const fault = { code: "BAD_INPUT" as const, subject: "credential.secretAccessKey", detail: "it is missing" };
  expect(inWords(fault)).toEqual({ ...fault, subject: "Secret access key" });
  expect(inWords({ ...fault, subject: "profiles.0.secret" }).subject).toBe("Secret");
  for (const subject of ["training-eu", "TIDEMARK_CA", "a name with spaces"]) {
    expect(inWords({ ...fault, subject }).subject).toBe(subject);
  }
  expect(inWords({ ...fault, code: "CONFLICT" }).subject).toBe("credential.secretAccessKey");
});

test("at its field only the reason is said", () => {
  expect(fieldWordsOf({ code: "BAD_INPUT", subject: "secret.key", detail: "a key has no spaces" })).toBe(
    "A key has no spaces.",
  );
});
