import { expect, test } from "vitest";
import type { ProfileCheck } from "#protocol/wire/profile-views.ts";
import { traitsOf } from "#storage/providers/providers.ts";
import { judgeStore } from "./check-permissions.ts";

const access = {
  endpoint: "https://s3.us-east-1.amazonaws.com",
  region: "us-east-1",
  bucket: "training",
  addressing: "virtual-host",
  traits: traitsOf("aws"),
} as const;

function judge(check: Pick<ProfileCheck, "operation" | "outcome">, region = "us-east-1") {
  const told = { rawCode: null, httpStatus: null, skippedBecause: null, note: null };
  const whole = { neededFor: "a reason", missingAction: null, fault: null, tookMs: 1, ...told, ...check };
  const found = { checksum: null, conditionalWrites: null, foundAt: 0 };
  const view = { at: 0, ok: true, clockSkewMs: 0, checks: [whole], leftBehind: [], found };
  return judgeStore({ view, region }, { access, prefix: "team/" });
}

test("another region than the one given is doubted, with how to give the right one", () => {
  const [first, second] = judge({ operation: "PutObject", outcome: "ok" }, "eu-west-1");
  expect(first).toMatchObject({ check: "region", outcome: "warn" });
  expect(first?.fix).toContain("--region eu-west-1");
  expect(second).toMatchObject({ check: "PutObject", outcome: "ok" });
  expect(judge({ operation: "PutObject", outcome: "ok" })).toHaveLength(1);
});

test("what a store does not have is done without where that is possible, and fails where it is not", () => {
  expect(judge({ operation: "PutObject if-none-match", outcome: "unsupported" })[0]).toMatchObject({ outcome: "ok" });
  expect(judge({ operation: "ListParts", outcome: "unsupported" })[0]).toMatchObject({ outcome: "failed" });
});

test("what only browsers need, and the clock, are left out", () => {
  expect(judge({ operation: "Clock", outcome: "failed" })).toEqual([]);
  expect(judge({ operation: "GetBucketCors", outcome: "refused" })).toEqual([]);
});
