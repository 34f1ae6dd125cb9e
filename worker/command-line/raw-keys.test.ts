import { expect, test } from "vitest";
import { rawKeysWarning } from "./key-facts.ts";

test("a node with a hub is warned of a bucket's own keys in its environment, by their names alone", () => {
  const warning = rawKeysWarning({ AWS_ACCESS_KEY_ID: "AKIAPLANTED", AWS_SECRET_ACCESS_KEY: "planted", HOME: "/root" });
  expect(warning).toContain("AWS_ACCESS_KEY_ID, AWS_SECRET_ACCESS_KEY are set");
  expect(warning).not.toMatch(/planted/i);
  expect(rawKeysWarning({ TIDEMARK_SECRET_ACCESS_KEY: "x" })).toContain("TIDEMARK_SECRET_ACCESS_KEY is set");
});

test("and of nothing where there are none", () => {
  expect(rawKeysWarning({ AWS_REGION: "eu-central-1", AWS_ACCESS_KEY_ID: "", TIDEMARK_TOKEN: "x" })).toBeNull();
});
