import { expect, test } from "vitest";
import { versionsWords } from "./empty-dialog.tsx";

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
