import { expect, it } from "vitest";
import { factsOf, paceOf, subjectOf, toneOf } from "./batch-words.ts";
import type { UploadBatch } from "./uploads/upload-manager.ts";

const batch: UploadBatch = {
  id: "b",
  state: "running",
  profileId: "p",
  profileName: "training",
  bucket: "training",
  prefix: "data/",
  ifThere: "keep",
  createdAt: 0,
  only: null,
  files: { waiting: 20, running: 6, done: 10, same: 2, failed: 2, "needs-file": 0 },
  filesTotal: 40,
  bytesTotal: 1_000_000_000,
  bytesDone: 500_000_000,
  bytesPerSecond: 10_000_000,
  connections: 6,
  retries: 1,
  reusedParts: 3,
  pieces: "#",
  fault: null,
  asked: null,
  owner: "elsewhere",
};

it("says what goes, how far it is, what was spared and who sends it", () => {
  expect(subjectOf(batch)).toBe("40 files");
  expect(factsOf(batch)).toMatch(
    /^.+ of .+ \(50 %\) · 12 of 40 files · 2 already there · 2 failed · 6 connections · 3 parts not sent again · 1 retry · in another tab$/,
  );
  expect(paceOf(batch, "bytes")).toContain("10");
});

it("says what the person is asked for", () => {
  const asked = { for: "choice", pick: "folder", name: "dataset" } as const;
  expect(paceOf({ ...batch, state: "needs-files", asked }, "bytes")).toBe("folder needed");
  expect(paceOf({ ...batch, state: "needs-files", asked: { ...asked, for: "leave" } }, "bytes")).toBe(
    "permission needed",
  );
});

it("shows an end with failures as one, and a stop with its reason as lost", () => {
  expect(toneOf({ ...batch, state: "ended" })).toBe("lost");
  expect(toneOf({ ...batch, state: "ended", files: { ...batch.files, failed: 0 } })).toBe("safe");
  expect(toneOf({ ...batch, state: "paused" })).toBe("risk");
  expect(toneOf({ ...batch, state: "paused", fault: { code: "CORS_MISSING" } })).toBe("lost");
});
