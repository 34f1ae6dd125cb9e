import { expect, test } from "vitest";
import { emptiedWords, versionsWords } from "./empty-dialog.tsx";

test("a bucket that keeps versions is named before the trash is emptied; others need no word", () => {
  const own = { bucket: "models", keepsVersions: true };
  expect(versionsWords([own])).toMatch(/^The bucket models keeps old versions: nothing is freed there until/);
  expect(versionsWords([own, { bucket: "copies", keepsVersions: true }])).toMatch(/^The buckets models, copies keep/);
  expect(versionsWords([own, { bucket: "old", keepsVersions: "some" }])).toMatch(
    /removes them\. The bucket old has suspended versioning: what was written before that stays/,
  );
  expect(
    versionsWords([
      { bucket: "models", keepsVersions: false },
      { bucket: "other", keepsVersions: null },
    ]),
  ).toBeNull();
});

test("the sentence after the trash was emptied says where nothing is freed, unless nothing is deleted", () => {
  const buckets = [{ bucket: "models", keepsVersions: true }];
  expect(emptiedWords({ begun: 2, tooYoung: 0, kept: 0, gone: 0 }, buckets)).toBe(
    "2 being deleted. The bucket models keeps old versions: nothing is freed there until a rule of the bucket, or the end of its lock, removes them.",
  );
  expect(emptiedWords({ begun: 2, tooYoung: 0, kept: 0, gone: 0 }, [])).toBe("2 being deleted.");
  expect(emptiedWords({ begun: 0, tooYoung: 0, kept: 1, gone: 0 }, buckets)).toBe("1 pinned in the bucket.");
});
